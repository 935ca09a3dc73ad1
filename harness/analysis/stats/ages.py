# SPDX-License-Identifier: Apache-2.0
"""Age of the arms of a comparison, by the column ``age`` of their trials, and which trials it is made without.

Of an arm that is warm, or compiled ahead of time, in more than half of its trials the others are left out with their
blocks, but not for memory. Starting and building have no age.
"""

from __future__ import annotations

import pandas as pd

from harness.model.age import YOUNG, Ages, ArmAge, TrialAge

AGE = "age"
#: Columns of what a process does before its load, or of its files: beginnings of their names.
_BEFORE_LOAD = (
    "time_to_first_response", "cpu_s_at_first", "rss_at_first", "idle_", "rss_before", "warm_up_", "cold_", "artifact_",
    "runtime_bytes", "build_s", "image_", "container_", "n_pods", "last_pod_", "first_pod_",
)  # fmt: skip


def age_of_arm(trials: pd.DataFrame) -> ArmAge | None:
    """Return the age of an arm; ``None``: the table does not have the column, or none of its trials had a load."""
    loaded = trials[trials["measurement_s"].notna()] if "measurement_s" in trials else trials
    if AGE not in trials or loaded.empty:
        return None
    ages = loaded[AGE]
    n, n_young = len(ages), int((ages == YOUNG).sum())
    settled: tuple[TrialAge, ...] = ("warm", "aot-compiled")
    most = next((item for item in settled if 2 * int((ages == item).sum()) > n), None)
    age = most or ("young" if 2 * n_young >= n else "unknown")
    return ArmAge(age=age, n=n, n_young=n_young, n_unknown=int(ages.isna().sum()))


def has_age(metric: str) -> bool:
    """Tell whether a metric is of a process under load, so that it depends on the age of the process."""
    return not metric.startswith(_BEFORE_LOAD)


def ages_of(variant: pd.DataFrame, reference: pd.DataFrame, metric: str) -> Ages | None:
    """Return the ages of two arms; ``None``: the metric has none, or the tables do not say."""
    if not has_age(metric):
        return None
    a, b = age_of_arm(variant), age_of_arm(reference)
    return None if a is None or b is None else Ages(variant=a, reference=b)


def young_arms(trials: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return label -> in how many of how many configurations its kept trials are young, of those that are in any."""
    counted = trials[~trials["excluded"].astype(bool)]
    if AGE not in counted or not {"label", "configuration"} <= set(counted.columns):
        return {}
    results: dict[str, tuple[int, int]] = {}
    for label, own in counted.groupby("label", sort=False):
        ages = [age_of_arm(arm) for _, arm in own.groupby("configuration", sort=False)]
        n_young = sum(age is not None and age.age == YOUNG for age in ages)
        if n_young:
            results[str(label)] = n_young, len(ages)
    return results


def of_their_age(
    variant: pd.DataFrame, reference: pd.DataFrame, ages: Ages
) -> tuple[pd.DataFrame, pd.DataFrame, Ages]:
    """Return the paired trials that both have the age of their arm, and ages that count those of another one."""
    of_age = [
        pd.Series(data=True, index=arm.index) if not age.warm else arm[AGE] == age.age
        for arm, age in ((variant, ages.variant), (reference, ages.reference))
    ]
    a, b = (arm[of_age[0] & of_age[1]].reset_index(drop=True) for arm in (variant, reference))
    first, second = (
        age.model_copy(update={"n_left_out": int((~own).sum())})
        for age, own in zip((ages.variant, ages.reference), of_age, strict=True)
    )
    return a, b, Ages(variant=first, reference=second)


def of_one_age(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of an arm that have its age; all of them where it is not warm."""
    age = age_of_arm(trials)
    return trials if age is None or not age.warm else trials[trials[AGE] == age.age]

# SPDX-License-Identifier: Apache-2.0
"""Each place that puts ratios into words says which of them are of young processes, and none calls those warm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.duel import rows_of
from harness.evidence.metrics import METRICS
from harness.figures.style import describe
from harness.model import Verdict
from harness.model.age import Ages, ArmAge, TrialAge, with_age
from harness.model.formatting import verdict_words
from harness.rows import of_estimate, tidy
from harness.rows.results import of_comparison
from harness.rows.session_results import Results


def of_age(found: Sequence[Comparison], *ages: TrialAge) -> list[Comparison]:
    """The comparisons with variants of these ages, against an AOT-compiled reference."""
    go = ArmAge(age="aot-compiled", n=6, n_young=0)
    return [
        one.model_copy(
            update={"ages": Ages(variant=ArmAge(age=age, n=6, n_young=6 * (age == "young")), reference=go)}
        )
        for one, age in zip(found, ages, strict=True)
    ]


def compared(rates: Mapping[str, float]) -> list[Comparison]:
    """Comparisons with a reference of 100/s, over six blocks with a scatter of a percent."""
    trials = pd.DataFrame(
        [
            {
                "experiment": "e", "session_id": "s", "trial_id": f"{block}-{variant}-{again}", "source": "measured",
                "variant": variant, "configuration": variant, "block": block, "duplicate": again, "excluded": False,
                "outcome": "ok", "flags": "", "position": block,
                "throughput_per_s": rate * (1 + 0.01 * ((block * 7 + len(variant) + 3 * again) % 5)), "n_requests": 1000,
            }
            for block in range(6)
            for variant, rate in {"go": 100.0, **rates}.items()
            for again in ((False, True) if variant == "go" else (False,))
        ]
    )  # fmt: skip
    return list(compare(trials, "throughput_per_s", reference="go"))


def two(*ages: TrialAge) -> list[Comparison]:
    return of_age(compared({"java-a": 50.0, "java-b": 60.0}), *ages)


ENGINES: Mapping[str, Callable[[list[Comparison]], str]] = {
    "verdict": lambda found: verdict_words(found[0]),
    "cell": lambda found: with_age(found[0].verdict.words, found[0].young),
    "duel": lambda found: rows_of(_results(found[0]))[0].why,
}


def _results(found: Comparison) -> Results:
    (metric, *_) = METRICS
    means = [
        of_estimate(found.ratio, name=metric.name, kind="mean", variant=name) for name in ("go", "java-a")
    ]
    return Results(
        session="s", profile="quick", reference="go", draft=None, n_planned=12, n_made=12, n_kept=12, n_blocks=6,
        outcomes={}, exclusion_reasons={}, flags={}, runtime_cpus={}, factors=(), metrics=(metric,),
        rows=tidy([*means, of_comparison(found, metric.name)]),
    )  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ratio_of_young_processes_has_its_word_and_one_of_warm_ones_has_not(engine: str) -> None:
    say = ENGINES[engine]
    assert "young" in say(two("young", "young"))
    assert "warm" not in say(two("young", "young")).lower()
    assert "young" not in say(two("warm", "aot-compiled"))


def turned() -> list[Comparison]:
    """Comparisons of warm services whose verdicts a few young trials decide."""
    return [
        one.model_copy(
            update={
                "verdict": Verdict.NOT_ABOUT_SERVICES,
                "not_about": f"the ratio depends on 1 young of 6 trials of {one.variant}: without them 0.5, with them 1",
            }
        )
        for one in two("warm", "warm")
    ]


#: What gives the reason of a refusal; all other engines leave it out.
GIVES_REASONS = {"verdict", "duel"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refusal_names_the_young_trials_that_decide_only_where_it_gives_its_reason(engine: str) -> None:
    found = turned()
    assert not any(one.young for one in found)
    assert ("young" in ENGINES[engine](found)) == (engine in GIVES_REASONS)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refusal_for_another_reason_never_names_young_trials(engine: str) -> None:
    update = {"verdict": Verdict.NOT_ABOUT_SERVICES, "not_about": "bound by the generator (5 of 6 trials)"}
    found = [one.model_copy(update=update) for one in two("warm", "warm")]
    assert "young" not in ENGINES[engine](found)


def test_a_caption_names_the_services_that_were_young_and_in_how_many_cells() -> None:
    trials = pd.DataFrame(
        [
            {
                "session_id": "s", "block": 1, "excluded": False, "measurement_s": 5.0, "label": label,
                "configuration": f"{label},{cell}", "age": age,
            }
            for label, cell, age in (
                ("Go", "a", "aot-compiled"), ("A", "a", "young"), ("A", "b", "warm"), ("B", "a", "young"),
            )
        ]
    )  # fmt: skip
    assert describe(trials).endswith(" Young processes: A (in 1 of 2 cells) and B.")
    assert describe(trials[trials["label"] == "Go"]).endswith("measured for 5.00 s each.")

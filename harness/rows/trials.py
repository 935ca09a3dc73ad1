# SPDX-License-Identifier: Apache-2.0
"""Trials of a notebook: those of one age, the parts of their loads, what else they used, each as a dot; and what making
each variant took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.load_response import database_columns
from harness.analysis.load.load_response import COLUMN as PART
from harness.analysis.load.load_response import parts_of
from harness.analysis.stats import ages
from harness.analysis.stats.pairing import counting
from harness.analysis.tables.runtime_columns import gauge_growth
from harness.errors import InputError
from harness.model import OpenLoad, TrialRecord
from harness.publish.figures.style import log_scale
from harness.rows.drawing import intervals
from harness.rows.results import fact
from harness.rows.schema import tidy
from harness.rows.session import Session
from harness.store import SessionFolder

#: Columns of a trial in each row of its parts.
_OF_PARTS = (
    "experiment", "source", "session_id", "trial_id", "block", "position", "duplicate", "is_reference", "variant",
    "label", "implementation", "language", "configuration", "excluded", "flags", "age", "latency_resolution_s",
)  # fmt: skip
#: Columns of :func:`used`.
_USED = ("most_connections", "most_active", "upstream_opened")
#: Numbers of :func:`builds` -> unit.
_OF_BUILD = {"build": "s", "peak": "B", "size": "B"}
#: What go-nethttp counts: every connection to the other service that it ever opened.
_OPENED = "upstream_connections_opened_total"


def at_levels(trials: pd.DataFrame, **levels: str) -> pd.DataFrame:
    """Return the trials at these levels; a factor that was not measured asks for nothing."""
    for factor, level in levels.items():
        if factor in trials and trials[factor].notna().any():
            trials = trials[trials[factor] == level]
    return trials


def of_one_age(trials: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the trials without the few young ones of a variant that is warm, as its ratios are made without them."""
    counted = counting(trials)
    left_out = counted.index
    for _, arm in counted.groupby([*by, "variant"], sort=False):
        left_out = left_out.difference(ages.of_one_age(arm).index)
    return trials.drop(index=left_out)


def parts(session: Session, *, n: int = 4) -> pd.DataFrame:
    """Return a row for each trial that is not excluded and ``part`` of its load, with the columns of the trial and
    ``latency_mean_s latency_p99_s latency_max_s throughput_per_s service_cores rss_max_bytes`` of the part."""
    evidence = session.evidence
    table = None if evidence is None else evidence.once(("parts", n), lambda: _parts(evidence, n))
    return session.trials.iloc[:0].assign(**{PART: ""}) if table is None else table


def _parts(evidence: Evidence, n_parts: int) -> pd.DataFrame | None:
    rows: list[dict[Any, Any]] = []
    for row, _, record in evidence.with_records():
        session_id, trial_id = str(row["session_id"]), str(row["trial_id"])
        load = record.planned.configuration.load
        if row["excluded"] or load is None or load.profile.duration_s is None:
            continue
        requests = evidence.whole_requests(session_id, trial_id)  # how a load changes, its head too
        if requests is None:
            continue
        profile, clock = load.profile, record.started
        segments = parts_of(
            requests, duration_s=load.profile.duration_s, n_parts=n_parts,
            begins_s=profile.begins_s if isinstance(profile, OpenLoad) else (0.0,),
            samples=evidence.trial_samples(session_id, trial_id),
            epoch_to_monotonic_s=clock.monotonic_s - clock.wall_epoch_s,
        )  # fmt: skip
        of_trial = {name: row[name] for name in (*_OF_PARTS, *evidence.factors)}
        # a part is a configuration of its own: the same part of the duplicate tells how much is noise
        rows += [
            part | of_trial | {"configuration": f"{row['configuration']},part={part[PART]}"}
            for part in segments.to_dict("records")
        ]
    if not rows:
        return None
    return pd.DataFrame(rows).sort_values(
        PART, key=lambda part: part.astype(int), kind="stable", ignore_index=True
    )


def used(session: Session) -> pd.DataFrame:
    """Return the trials with the most connections to the database, ``most_connections`` open and ``most_active`` at
    work, and ``upstream_opened``, those to the other service that were opened under load, which Go alone counts."""
    records = () if session.evidence is None else session.evidence.with_records()
    lines = [database_columns(folder, record) | _opened(folder, record) for _, folder, record in records]
    frame = pd.DataFrame(lines, index=session.trials.index).reindex(columns=_USED)
    return session.trials.join(frame.astype("float64"))


def _opened(folder: SessionFolder, record: TrialRecord) -> dict[str, object]:
    try:
        return {"upstream_opened": gauge_growth(folder, record, _OPENED, at_first=0.0)}
    except InputError:  # a damaged file says nothing
        return {}


def dots(
    axes: Axes, trials: pd.DataFrame, rows: pd.DataFrame, palette: Mapping[str, str], *, factor: float = 1.0
) -> None:
    """Draw every counted trial as a dot on the line of its label, with value and interval of each row, on a log axis.

    Args:
        rows: means of one metric, the first drawn on top. palette: label -> colour.
        factor: from the unit of the rows to that of the axis.
    """
    labels = [str(label) for label in rows["label"]]
    axes.yaxis.update_units(labels[::-1])  # type: ignore[no-untyped-call]  # matplotlib gives it no types
    axes.set_ylim(-0.6, max(len(labels), 1) - 0.4)
    counted = counting(trials)
    for label in labels:
        values = counted.loc[counted["label"] == label, str(rows["metric"].iloc[0])] * factor
        axes.plot(values, [label] * len(values), "o", color=palette[label], alpha=0.8)
    intervals(axes, rows, factor=factor)
    log_scale(axes, "x")


def builds(session: Session) -> pd.DataFrame:
    """Return time (``build``), memory (``peak``) and ``size`` of each variant's own build, such as an AOT cache or a
    native image, and its ``tool`` as a fact.

    One build each, so there are no intervals. A variant that could not be had here has no numbers, and the reason.
    """
    evidence = session.evidence
    if evidence is None:
        return tidy([])
    records = {name: build for folder in evidence.sessions for name, build in folder.builds().items()}
    reasons = {gone.variant: gone.reason for gone in evidence.header.unavailable}
    rows: list[dict[str, Any]] = []
    for name, variant in session.definition.variants.items():
        build = records.get(variant.build_name)
        if variant.runtime.is_plain or (build is None and name not in reasons):
            continue
        tool = "none" if build is None else "a training start"
        values: Sequence[float | None] = (None, None, None)
        if build is not None and build.form is not None:
            form = build.form
            values, tool = (form.build_s, form.peak_rss_bytes, form.image_bytes), form.tool.partition(" (")[0]
        elif build is not None:
            values = (build.aot_training_s, None, build.aot_cache_bytes)
        about = {"variant": name, "label": evidence.variants[name]}
        number = about | {"kind": "count", "method": "as is", "estimand": "of one build"}
        why = reasons.get(name, "its tool does not tell")
        absent = {"why": why, "warnings": [why]}
        rows += [
            number | {"name": part, "unit": unit, "value": value} | (absent if value is None else {})
            for (part, unit), value in zip(_OF_BUILD.items(), values, strict=True)
        ]
        rows.append(fact("tool", tool) | about)
    return tidy(rows)

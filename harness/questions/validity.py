# SPDX-License-Identifier: Apache-2.0
"""Rows on the method where the truth is known: coverage, equal trials, a handicap; and an audit of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from harness.analysis.audit.session_checks import AuditedTrial, audit_trial, equal_arms, equal_cells
from harness.analysis.stats.pairing import counting, in_duet, with_own_reference
from harness.analysis.tables.tidy import read_restored
from harness.formats.wrk_histogram import UNDONE
from harness.rows import Session, compare, count, of_estimate, stack, tidy
from harness.rows.schema import empty, records
from harness.rows.session_results import session_agreement
from harness.verify.simulated import run_verify

#: The generators that others are compared with: under users, and at a rate.
BASES = ("wrk", "k6-open")


def simulated(sims: int = 400) -> pd.DataFrame:
    """Return the coverage of intervals in simulated experiments, a row for each law of trials and number of blocks.

    Columns: ``name value at_least at_most control holds``. A control counts requests in place of trials, and must fail.
    """
    cells = [cell.model_dump() for cell in run_verify("coverage", sims=sims).cells]
    return pd.DataFrame(cells)[["name", "value", "at_least", "at_most", "control", "holds"]]


def noise(session: Session) -> pd.DataFrame:
    """Return the reference over its duplicate in every cell of a session that has one; ``margin`` is the noise."""
    evidence = session.evidence
    if evidence is None:
        return empty("experiment", "cell")
    about = {"variant": session.reference, "reference": session.reference, "label": session.experiment}
    return tidy(
        of_estimate(noise.ratio, name="itself", kind="ratio", metric=noise.metric, **about)
        | {"experiment": session.experiment, "cell": "-".join(levels.values()) or "all"}
        | {"margin": noise.noise, "n_blocks": noise.n_blocks}
        for levels, noise in equal_cells(session.trials, evidence.factors)
    )


def equal_trials(session: Session, metrics: Sequence[str]) -> pd.DataFrame:
    """Return what trials that differ in nothing but their name say of each metric.

    ``spread``: their coefficient of variation; ``blocked``: the share of deals into two arms within blocks whose
    interval excludes 1; ``ordered``: the first half of the session over its second half.
    """
    if session.trials.empty:
        return empty("of")
    arms = [equal_arms(session.trials, metric) for metric in metrics]
    return tidy(
        of_estimate(getattr(arm, name), name=name, kind="share", metric=arm.metric) | {"of": arm.metric}
        for arm in arms
        for name in ("spread", "blocked", "ordered")
    )


def handicapped(trials: pd.DataFrame, rows: pd.DataFrame, declared: Mapping[str, float]) -> pd.DataFrame:
    """Return the comparisons of handicapped variants with ``truth``, what the handicap makes of the metric, and whether
    the interval has it (``contained``).

    A process that burns the share h of its CPU time has 1/(1 - h) times the CPU time per request, and (1 - h) times
    the throughput where the CPU is the limit. In a duet service and generator share the CPUs, and throughput is the
    inverse of what both take per request: s/(1 - h) of the service, where s is that of the reference, and of the
    generator what was measured in each arm, because it takes more per request from a slower service.

    Args:
        declared: variant -> its share h.
    """
    chosen = rows[rows["variant"].isin(declared)]
    truth = [_truth(trials, row, declared[row["variant"]]) for row in records(chosen)]
    chosen = chosen.assign(truth=pd.Series(truth, index=chosen.index, dtype="float64"))
    return chosen.assign(contained=chosen["truth"].between(chosen["low"], chosen["high"]))


def _truth(trials: pd.DataFrame, row: Mapping[str, Any], handicap: float) -> float:
    metric, reference = row["metric"], row["reference"]
    if metric != "throughput_per_s":
        return 1 / (1 - handicap)
    arms = counting(with_own_reference(trials, row["variant"], reference))
    used = (
        arms[in_duet(arms)].reindex(columns=["variant", metric, "service_cores", "generator_cores"]).dropna()
    )
    baseline, slowed = used[used["variant"] == reference], used[used["variant"] != reference]
    if baseline.empty or slowed.empty:
        return 1 - handicap
    service, generator, slower = (
        float((arm[f"{side}_cores"] / arm[metric]).mean())
        for arm, side in ((baseline, "service"), (baseline, "generator"), (slowed, "generator"))
    )
    return (service + generator) / (service / (1 - handicap) + slower)


def generators(trials: pd.DataFrame, metric: str, name: str) -> pd.DataFrame:
    """Return each load generator on one service over that of ``BASES`` which offers the same kind of load.

    Where a base was not measured its kind is left out; so is a latency of wrk's that counts requests never sent.
    """
    if trials.empty:
        return tidy([])
    tools = trials[~trials["duplicate"].astype(bool)]
    tools = tools.assign(variant=tools["factor_generator"], label=tools["factor_generator"])
    if metric.startswith("latency_"):
        tools = tools[(tools["generator"] != "wrk") | (tools["latency_method"] == UNDONE)]
    kinds = {base: set(tools.loc[tools["variant"] == base, "load_model"]) for base in BASES}
    return stack(
        *(
            compare(tools[tools["load_model"].isin(kind)], metric, name, reference=base, bounded=False)
            for base, kind in kinds.items()
            if kind
        )
    )


def agreement(session: Session) -> pd.DataFrame:
    """Return on how many verdicts each other session of the experiment agrees with this one, or contradicts it."""
    rows: list[dict[str, Any]] = []
    if (evidence := session.evidence) is not None:
        for again in evidence.other_sessions:
            pairs, name = session_agreement(evidence, again), again.sessions[0].folder.name
            rows += [
                count("verdicts", number, f"verdicts of both sessions: {kind}")
                | {"kind_of": kind.replace(" ", "-"), "program": program, "session": name}
                for changed, program in ((False, "same"), (True, "changed"))
                for kind, number in pairs.counts(changed=changed).items()
            ]
    return stack(empty("kind_of", "program", "session"), tidy(rows))


def audit(session: Session) -> pd.DataFrame:
    """Return every check of the arithmetic of a session's kept trials that had a load: totals, ratios, and its laws.

    Columns: ``experiment trial_id generator check result why``; ``result``: held, failed, or not applicable.
    """
    columns = ["experiment", "trial_id", "generator", "check", "result", "why"]
    if (evidence := session.evidence) is None:
        return pd.DataFrame(columns=columns)
    rows: list[tuple[Any, ...]] = []
    for row in records(session.trials[~session.trials["excluded"].astype(bool)]):
        session_id, trial_id = row["session_id"], row["trial_id"]
        folder, record = evidence.folder(session_id), session.record(row)
        planned = record.planned.configuration.load
        if record.load is None or planned is None or record.load.duration_s <= 0:
            continue
        trial = AuditedTrial(
            row=row, load=record.load, profile=planned.profile, settle_s=folder.header.settle_s,
            requests=evidence.whole_requests(session_id, trial_id), histogram=read_restored(folder, record),
        )  # fmt: skip
        about = (session.experiment, trial_id, row["generator"])
        rows += [(*about, check.name, check.result, check.why) for check in audit_trial(trial)]
    return pd.DataFrame(rows, columns=columns)

# SPDX-License-Identifier: Apache-2.0
"""Each service against the leanest handler that its own framework allows, in one session.

The session is an ordinary one of the experiment ``lean-handlers``: blocks in random order, fresh
processes, resumable, with provenance. Ratios are paired by block. What did not warm up, or was not limited by its
service, is not judged.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from harness.analysis.stats.about_services import not_about_services
from harness.analysis.stats.ages import ages_of, of_their_age
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.pairing import inputs_of, pair_by_block
from harness.analysis.tables.layout import load_trials
from harness.analysis.tables.tidy import tidy
from harness.errors import InputError
from harness.model import Estimate, Experiment
from harness.model.formatting import NOT_ABOUT
from harness.provenance import describe_place
from harness.tests.benchmarks.result import BenchResult, BenchRow, at_least

if TYPE_CHECKING:
    from harness.session import Progress

EXPERIMENT = "lean-handlers"
LIMIT = 0.8


def bench_services(
    root: Path,
    *,
    profile: str = "quick",
    seed: int = 1,
    experiment: str = EXPERIMENT,
    progress: Progress | None = None,
) -> BenchResult:
    """Run or resume the session, and compare each pair of it.

    Raises:
        InputError: the definition has no pair, or nothing of it can run here.
        Interrupted: a signal; the same call goes on with the session.
    """
    from harness import session

    assembly = session.assemble(root)
    prepared = session.prepare(assembly, experiment, profile=profile, host="local", seed=seed)
    folder = session.measure(assembly, prepared, progress=progress)
    tidy(root, [experiment])
    trials = load_trials(root, experiment)
    trials = trials[(trials["session_id"] == folder.folder.name) & (trials["source"] == "measured")]
    rows = [row for pair in pairs(prepared.experiment) for row in compare_pair(trials, *pair)]
    excluded = trials[trials["excluded"]]
    return BenchResult(
        name="services",
        question="How much of what its framework can do does each service's own code leave?",
        rows=tuple(rows),
        notes=(
            f"session {folder.key}, {prepared.plan.n_blocks} blocks; ratios of geometric means, paired by block, "
            "with 95 % log-t intervals; matched face, no logging",
            "throughput is the service's over the lean handler's, CPU per request the lean handler's over the "
            "service's: below 1 the service costs more",
            *(f"not measured: {gone.variant}: {gone.reason}" for gone in prepared.unavailable),
            *(f"left out: {one.trial_id}: {one.exclusion_reason}" for one in excluded.itertuples()),
        ),
        place=describe_place(root),
    )


def pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Return (service, its lean handler) for each lean variant and the one other variant of its implementation.

    Raises:
        InputError: none, or a lean variant without a single partner.
    """
    found: list[tuple[str, str]] = []
    for lean, variant in experiment.variants.items():
        if not variant.lean:
            continue
        partners = [
            name
            for name, other in experiment.variants.items()
            if other.implementation == variant.implementation and not other.lean
        ]
        if len(partners) != 1:
            raise InputError(
                "a lean variant needs exactly one partner of its implementation",
                file=f"harness/experiments/{experiment.name}.toml",
                place=f"variants.{lean}",
                found=", ".join(partners) or "none",
            )
        found.append((partners[0], lean))
    if not found:
        raise InputError(
            "has no lean variant",
            file=f"harness/experiments/{experiment.name}.toml",
            allowed="variants with lean = true",
        )
    return tuple(found)


def compare_pair(trials: pd.DataFrame, service: str, lean: str) -> list[BenchRow]:
    """Return a row for throughput and one for CPU time per request.

    Args:
        trials: the table of trials of one session; duplicates and excluded trials are left out here.
    """
    kept = trials[~trials["excluded"] & ~trials["duplicate"]]
    arms = [kept[kept["variant"] == name] for name in (service, lean)]
    return [
        _row(f"{service}: throughput", *arms, metric="throughput_per_s", unit="1/s", turned=False),
        _row(f"{service}: CPU per request", *arms, metric="cpu_s_per_request", unit="us", turned=True),
    ]


def _row(
    name: str, service: pd.DataFrame, lean: pd.DataFrame, *, metric: str, unit: str, turned: bool
) -> BenchRow:
    ours, theirs, _ = pair_by_block(service[service[metric].notna()], lean[lean[metric].notna()])
    ages = ages_of(ours, theirs, metric)
    if ages is not None:
        ours, theirs, ages = of_their_age(ours, theirs, ages)
    if ours.empty:
        return BenchRow(
            name=name, value=None, unit=unit, peer="lean handler", target=f"ratio >= {LIMIT}",
            said="no block has both: nothing can be said",
        )  # fmt: skip
    bound = not_about_services(ours, theirs, metric)
    why = f"{NOT_ABOUT}: {bound}" if bound is not None else "young processes" if ages and ages.young else None
    left_out = f"{ages.n_left_out} trials left out for their age" if ages and ages.n_left_out else None
    a, b = (theirs, ours) if turned else (ours, theirs)
    ratio = effect_size_ci(
        a[metric].to_numpy(), b[metric].to_numpy(), paired=True, inputs=(*inputs_of(ours), *inputs_of(theirs))
    )
    scale = 1e6 if unit == "us" else 1.0
    return BenchRow(
        name=name, value=float(ours[metric].median()) * scale, unit=unit, ratio_low=ratio.low, ratio_high=ratio.high,
        peer="lean handler", peer_value=float(theirs[metric].median()) * scale, ratio=ratio.value,
        target=f"ratio >= {LIMIT}", holds=_judge(ratio) if why is None else None,
        said="; ".join(filter(None, (f"{len(ours)} blocks", why, left_out, *ratio.warnings))),
    )  # fmt: skip


def _judge(ratio: Estimate) -> bool | None:
    """Nothing is said without an interval, nor when the interval holds the limit."""
    if ratio.low is None or ratio.high is None or ratio.low < LIMIT <= ratio.high:
        return None
    return at_least(LIMIT, ratio.value, ratio.high)

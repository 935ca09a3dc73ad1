# SPDX-License-Identifier: Apache-2.0
"""The whole of a comparison: name the runs, read them, look for traps, judge."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.compare.judge import judge
from harness.compare.reading import read_run, runs_named
from harness.compare.result import NAMES, Arms, Comparison
from harness.compare.traps import ACCEPTABLE, TRAPS, find_traps
from harness.errors import InputError
from harness.formats.jtl_units import Decimal, LatencyUnit


def compare_files(
    a: Sequence[str],
    b: Sequence[str],
    *,
    skip_s: float = 0.0,
    accept: Collection[str] = (),
    latency_unit: LatencyUnit | None = None,
    decimal: Decimal | None = None,
) -> Comparison:
    """Compare two arms of runs, B over A.

    Args:
        a, b: words that name runs (:mod:`harness.compare.reading`).
        skip_s: what to leave out at the beginning of each run. accept: traps that withhold nothing.

    Raises:
        InputError: a word names nothing, a file cannot be read, or there is no such trap.
    """
    for name in accept:
        if name not in ACCEPTABLE:
            raise InputError(
                "leaves nothing to say" if name in TRAPS else "no such trap",
                place="--accept", found=name, allowed=", ".join(ACCEPTABLE),
            )  # fmt: skip
    left_out: list[str] = []
    arms = []
    for name, words in zip(NAMES, (a, b), strict=True):
        files, rest = runs_named(words, name)
        left_out += rest
        arms.append(
            tuple(read_run(file, skip_s=skip_s, latency_unit=latency_unit, decimal=decimal) for file in files)
        )
    return compare_runs((arms[0], arms[1]), accept=accept, remarks=left_out)


def compare_runs(arms: Arms, *, accept: Collection[str] = (), remarks: Sequence[str] = ()) -> Comparison:
    """Compare two arms of runs that were read already."""
    traps = find_traps(arms, accept=accept)
    warnings = [*remarks, *_about(arms)]
    return Comparison(
        arms=(tuple(arms[0]), tuple(arms[1])),
        rows=judge(arms, traps),
        traps=traps,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _about(arms: Arms) -> list[str]:
    runs = [run for some in arms for run in some]
    notes: dict[str, list[str]] = {}
    for run in runs:
        for warning in run.warnings:
            notes.setdefault(warning, []).append(run.name)
    remarks = [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {note}"
        for note, names in notes.items()
    ]
    steps = {run.resolution_s for run in runs}
    if len(steps) > 1:
        remarks.append(
            "the tools' clocks have different steps; percentiles near them differ for that reason alone"
        )
    if len({source for run in runs for source in run.sources}) > 1:
        remarks.append("the runs are of different load tools, which measure time at different places")
    if any(run.start_epoch_s is None for run in runs):
        remarks.append("not every run says when it began, so their order is unknown")
    return remarks

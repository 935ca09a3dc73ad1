# SPDX-License-Identifier: Apache-2.0
"""How much JVMs still compiled while they were measured, in words."""

from __future__ import annotations

import pandas as pd

from harness.analysis.stats.ages import compile_share
from harness.analysis.stats.pairing import counting, inputs_of
from harness.model.age import COMPILED_SHARE
from harness.model.digits import whole_percent
from harness.model.phrases import listed
from harness.publish.results import NO_TEXT, Leaf, Words


def compiling_sentence(trials: pd.DataFrame) -> str:
    """Return how many of the trials of a JVM compiled for more than ``COMPILED_SHARE`` of the load, and by how
    much.

    A trial is of a JVM when its compilers' time is known. Empty: no kept trial has it.
    """
    mine = counting(trials).dropna(subset=["compile_s", "measurement_s"])
    if mine.empty:
        return ""
    share = compile_share(mine)
    n_compiling, bar = int((share > COMPILED_SHARE).sum()), whole_percent(COMPILED_SHARE)
    if n_compiling == 0:
        return f"In none of {len(mine)} trials did the JVM compile for more than {bar} of the load."
    return (
        f"In {n_compiling} of {len(mine)} trials of a JVM its compilers worked for more than {bar} of the load "
        f"(at most {whole_percent(share.max())}), so these numbers are not of warm JVMs."
    )


def repeated_sentence(trials: pd.DataFrame) -> str:
    """Return to which services a load was offered again because their JVM compiled during it; empty: to none.

    Of kept trials: each has the last of its loads, and says how many it took before.
    """
    if "earlier_loads" not in trials:
        return ""
    mine = counting(trials)
    again = mine[mine["earlier_loads"].fillna(0.0) > 0]
    if again.empty:
        return ""
    n_all = mine.groupby("label").size()
    said = [f"{label} in {len(rows)} of {n_all[label]} trials" for label, rows in again.groupby("label")]
    return (
        "Because the JVM compiled for too much of it, the load was offered to the same process again: "
        f"{listed(said)}. The last load counts."
    )


def compiling(trials: pd.DataFrame | None) -> Leaf:
    """Return that sentence with the trials it is of; absent: no JVM was measured, or none told what it compiled."""
    if trials is None or "compile_s" not in trials or not (said := compiling_sentence(trials)):
        return NO_TEXT
    return Words(said, inputs_of(counting(trials).dropna(subset=["compile_s", "measurement_s"])))


__all__ = ["compiling", "compiling_sentence", "repeated_sentence"]

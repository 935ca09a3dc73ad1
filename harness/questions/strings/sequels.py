# SPDX-License-Identifier: Apache-2.0
"""What was published of the string services beside two rounds: round 3 on Kubernetes, and the sequel of 2026."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.evidence.published import FOLDER, published_table
from harness.model import Estimate
from harness.publish.results import Tree, as_is
from harness.questions.strings.published import audit

ROUND3, SEQUEL = FOLDER / "strings-round3.csv", FOLDER / "strings-sequel.csv"
ROUND3_COLUMNS = (
    "source", "table", "pods", "access", "application", "language", "latency_mean_ms", "throughput_per_s",
    "latency_mean_warm_ms", "throughput_warm_per_s",
)  # fmt: skip
SEQUEL_COLUMNS = (
    "source", "run", "payload_bytes", "users", "application", "language", "throughput_per_s",
)  # fmt: skip
GO, NATIVE, JVM, AOT = "Go", "Helidon native", "Helidon JVM", "Helidon AOT cache"


def published_round3(*, root: Path | None = None) -> pd.DataFrame:
    """Return round 3, one row a printed pair of numbers: ``warm_up`` is ``none``, ``calls-1000``, or empty where a
    row was printed once and does not say which; with what follows, as of ``published_rounds``.

    Raises:
        InputError: a column is missing, or a number is not one.
    """
    frame = published_table(
        ROUND3, ROUND3_COLUMNS, ("pods", "latency_mean_ms", "throughput_per_s"), root=root
    )
    about = list(ROUND3_COLUMNS[:6])
    twice = frame["throughput_warm_per_s"].notna()
    first = frame[[*about, "latency_mean_ms", "throughput_per_s"]].assign(
        warm_up=twice.map({True: "none", False: ""})
    )
    warm = (
        frame[twice][[*about, "latency_mean_warm_ms", "throughput_warm_per_s"]]
        .rename(columns=lambda name: name.replace("_warm", ""))
        .assign(warm_up="calls-1000")
    )
    rows = pd.concat([first, warm]).sort_index(kind="stable").reset_index(drop=True)
    return rows.assign(**audit(rows))


def published_sequel(*, root: Path | None = None) -> pd.DataFrame:
    """Return the last run of the sequel, one row a cell and program.

    Raises:
        InputError: a column is missing, or a number is not one.
    """
    return published_table(SEQUEL, SEQUEL_COLUMNS, ("payload_bytes", "users", "throughput_per_s"), root=root)


def round3_results(rows: pd.DataFrame) -> Tree:
    """Return the printed native image over Go in each of the four places, what 100 pods give Go over one, and the
    audit's range."""
    rate = rows[rows["warm_up"] != "calls-1000"].set_index(["access", "pods", "application"])[
        "throughput_per_s"
    ]
    audits = rows["audit_ratio"]
    return {
        "native": {
            f"{access}_{pods}": _ratio(
                rate[access, pods, NATIVE] / rate[access, pods, GO],
                f"throughput of the native image over Go, {pods} pods, {access}",
            )
            for access in ("traefik", "clusterip")
            for pods in (1, 100)
        },
        "pods": {
            access: _ratio(rate[access, 100, GO] / rate[access, 1, GO], f"Go on 100 pods over one, {access}")
            for access in ("traefik", "clusterip")
        },
        "audit": {
            name: as_is(float(value), "ratio", f"{name} of published over predicted throughput")
            for name, value in (("low", audits.min()), ("high", audits.max()))
        },
    }


def sequel_results(rows: pd.DataFrame) -> Tree:
    """Return for both Java programs in how many cells they were ahead of Go, and the range of their ratios to it."""
    rate = rows.pivot(index=["payload_bytes", "users"], columns="application", values="throughput_per_s")
    found: dict[str, Tree] = {}
    for word, name in (("jvm", JVM), ("aot", AOT)):
        ratio = rate[name] / rate[GO]
        found[word] = {
            "cells": as_is(len(ratio), "1", "published cells"),
            "ahead": as_is(int((ratio > 1).sum()), "1", f"cells in which {name} was ahead of Go"),
            "low": _ratio(float(ratio.min()), f"lowest throughput of {name} over Go in a cell"),
            "high": _ratio(float(ratio.max()), f"highest throughput of {name} over Go in a cell"),
        }
    return found


def _ratio(value: float, what: str) -> Estimate:
    return Estimate(
        value=float(value),
        unit="ratio",
        method="published, one trial each",
        n_trials=1,
        estimand=what,
        warnings=("no interval can be had from one trial",),
    )


__all__ = ["published_round3", "published_sequel", "round3_results", "sequel_results"]

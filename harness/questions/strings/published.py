# SPDX-License-Identifier: Apache-2.0
"""Numbers that others published, from ``data/published``, with the arithmetic they must obey.

A closed loop of N users with L loops each, started over a ramp of R seconds, ends after
``R (N-1)/N + L RT`` when every answer takes RT. So the mean response time alone predicts the throughput,
whatever the service is. What is far off would be a misprint; what agrees says nothing about the service
when the ramp is the larger part.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from harness.analysis.audit.plan_audit import audit_plan
from harness.evidence.published import FOLDER, published_table
from harness.model import Estimate
from harness.model.digits import plain
from harness.publish.cells import Cell, gapped
from harness.publish.results import Tree, as_is

FILE = FOLDER / "strings-rounds.csv"
COLUMNS = (
    "source",
    "table",
    "round",
    "application",
    "language",
    "logging",
    "warm_up",
    "latency_mean_ms",
    "throughput_per_s",
    "rss_start_kb",
    "rss_end_kb",
    "note",
)
USERS, LOOPS, RAMP_UP_S = 100, 10_000, 10.0


def published_rounds(*, root: Path | None = None) -> pd.DataFrame:
    """Return the published rounds, one row each, with what follows from them.

    Added columns: ``predicted_per_s`` and ``audit_ratio`` (published over predicted), ``busy_users``
    (throughput x latency, Little's law), ``duration_s`` (requests over throughput), ``ramp_share`` (how much
    of that the ramp took).

    Raises:
        InputError: a column is missing, or a number is not one.
    """
    frame = published_table(FILE, COLUMNS, ("latency_mean_ms", "throughput_per_s"), root=root)
    return frame.assign(**audit(frame))


def audit(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Return what follows from printed latencies and throughputs, as columns."""
    latency_s = frame["latency_mean_ms"] / 1e3
    audits = [
        audit_plan(threads=USERS, loops=LOOPS, ramp_up_s=RAMP_UP_S, mean_response_s=mean)
        for mean in latency_s
    ]
    predicted = pd.Series([audit.expected_throughput_per_s for audit in audits], index=frame.index)
    duration = USERS * LOOPS / frame["throughput_per_s"]
    return {
        "predicted_per_s": predicted,
        "audit_ratio": frame["throughput_per_s"] / predicted,
        "busy_users": frame["throughput_per_s"] * latency_s,
        "duration_s": duration,
        "ramp_share": RAMP_UP_S * (USERS - 1) / USERS / duration,
    }


def published_results(audited: pd.DataFrame) -> Tree:
    """Return what the audit of the published rounds says, each round's ratio of Helidon over Go, warm and without
    logging, the comparison the article leads with, and what a log line left of each program's throughput."""
    ratio = audited["audit_ratio"]
    return {
        "audit": {
            "n": as_is(len(audited), "1", "published rows"),
            **{
                name: as_is(float(value), "ratio", f"{name} of published over predicted throughput")
                for name, value in (("low", ratio.min()), ("median", ratio.median()), ("high", ratio.max()))
            },
            "ramp_share": as_is(
                float(audited["ramp_share"].max()), "share", "longest share of ramp in a row"
            ),
            "busy_users": as_is(float(audited["busy_users"].min()), "1", "fewest users busy at once"),
        },
        **{
            f"round{number}": {"ratio": _ratio(rows), "log": _log(rows)}
            for number, rows in audited.groupby("round")
        },
    }


def published_rows(audited: pd.DataFrame) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: each published row with what follows from it."""
    rows: list[Mapping[str, Cell]] = [
        {
            **{name: str(row[name]) for name in ("table", "application", "logging", "warm_up")},
            "latency": plain(row["latency_mean_ms"]),
            "throughput": plain(row["throughput_per_s"]),
            "ratio": plain(row["audit_ratio"]),
            "busy": plain(row["busy_users"]),
            "ramp": plain(100 * row["ramp_share"]),
        }
        for _, row in audited.iterrows()
    ]
    return gapped(rows, "table")


def _ratio(rows: pd.DataFrame) -> Estimate:
    warm = rows[(rows["logging"] == "off") & (rows["warm_up"] == "calls-1000")].set_index("application")
    rate = warm["throughput_per_s"].to_dict()
    return Estimate(
        value=rate["Helidon JVM"] / rate["Go"],
        unit="ratio",
        method="published, one trial each",
        n_trials=1,
        estimand="throughput of Helidon on the JVM over Go, warm, no logging",
        warnings=("no interval can be had from one trial",),
    )


def _log(rows: pd.DataFrame) -> Tree:
    """Throughput with a log line over that without, no warm-up in both."""
    cold = rows[rows["warm_up"] == "none"].set_index(["logging", "application"])["throughput_per_s"]
    return {
        word: Estimate(
            value=float(cold["on", name] / cold["off", name]),
            unit="ratio",
            method="published, one trial each",
            n_trials=1,
            estimand=f"throughput of {name} with a log line over that without",
            warnings=("no interval can be had from one trial",),
        )
        for word, name in (("go", "Go"), ("jvm", "Helidon JVM"), ("native", "Helidon native"))
    }

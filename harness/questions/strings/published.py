# SPDX-License-Identifier: Apache-2.0
"""Numbers that others published, from ``data/published``, with the arithmetic they must obey.

A closed loop of N users with L loops each, started over a ramp of R seconds, ends after
``R (N-1)/N + L RT`` when every answer takes RT. So the mean response time alone predicts the throughput,
whatever the service is. What is far off would be a misprint; what agrees says nothing about the service
when the ramp is the larger part.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.analysis.audit.plan_audit import audit_plan
from harness.errors import InputError
from harness.model import Estimate
from harness.model.digits import plain
from harness.project import find_root
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher

FILE = Path("data") / "published" / "strings-rounds.csv"
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
    path = (root or find_root()) / FILE
    frame = pd.read_csv(path, comment="#")
    if tuple(frame.columns) != COLUMNS:
        raise InputError(
            "wrong columns", file=path, found=", ".join(frame.columns), allowed=", ".join(COLUMNS)
        )
    for column in ("latency_mean_ms", "throughput_per_s"):
        if not pd.api.types.is_numeric_dtype(frame[column]) or not (frame[column] > 0).all():
            raise InputError("must be positive numbers", file=path, place=column)
    return frame.assign(**_audit(frame))


def _audit(frame: pd.DataFrame) -> dict[str, pd.Series]:
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


def publish_rounds(publisher: Publisher, audited: pd.DataFrame) -> Published:
    """Publish the published rounds as a table, and what the audit of them says as numbers."""
    ratio = audited["audit_ratio"]
    publisher.value("published.audit.n", len(audited), "1", "published rows")
    for name, value in (("low", ratio.min()), ("median", ratio.median()), ("high", ratio.max())):
        publisher.value(
            f"published.audit.{name}", float(value), "ratio", f"{name} of published over predicted throughput"
        )
    share = audited["ramp_share"].max()
    publisher.value("published.audit.ramp_share", float(share), "share", "longest share of ramp in a row")
    publisher.value(
        "published.audit.busy_users", float(audited["busy_users"].min()), "1", "fewest users busy at once"
    )
    for number in audited["round"].unique():
        _published_ratio(publisher, audited[audited["round"] == number], int(number))
    rows: list[dict[str, Cell] | None] = []
    for _, row in audited.iterrows():
        if rows and rows[-1] is not None and rows[-1]["table"] != row["table"]:
            rows.append(None)
        rows.append(
            {
                "table": str(row["table"]),
                "application": str(row["application"]),
                "logging": str(row["logging"]),
                "warm_up": str(row["warm_up"]),
                "latency": plain(row["latency_mean_ms"]),
                "throughput": plain(row["throughput_per_s"]),
                "ratio": plain(row["audit_ratio"]),
                "busy": plain(row["busy_users"]),
                "ramp": plain(100 * row["ramp_share"]),
            }
        )
    return publisher.table(
        "published.rounds",
        {
            "table": "round",
            "application": "program",
            "logging": "log",
            "warm_up": "warm-up",
            "latency": "mean/ms",
            "throughput": "req/s",
            "ratio": "audit",
            "busy": "busy",
            "ramp": "ramp/%",
        },
        rows,
        caption="Published results (Nelson and Nagy 2020, Chinese edition), with what follows from them: audit is "
        "the printed throughput over the one that the printed latency implies; busy, the users waiting for an "
        "answer at a time; ramp, the share of the run spent starting users.",
        wide=True,
        right=("latency", "throughput", "ratio", "busy", "ramp"),
    )


def _published_ratio(publisher: Publisher, rows: pd.DataFrame, number: int) -> None:
    """Publish Helidon over Go, warm and without logging, the comparison the article leads with."""
    warm = rows[(rows["logging"] == "off") & (rows["warm_up"] == "calls-1000")].set_index("application")
    rate = warm["throughput_per_s"].to_dict()
    ratio = rate["Helidon JVM"] / rate["Go"]
    publisher.number(
        f"published.round{number}.ratio",
        Estimate(
            value=ratio,
            unit="ratio",
            method="published, one trial each",
            n_trials=1,
            estimand="throughput of Helidon on the JVM over Go, warm, no logging",
            warnings=("no interval can be had from one trial",),
        ),
    )

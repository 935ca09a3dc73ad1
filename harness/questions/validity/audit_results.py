# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the arithmetic of our own sessions: checks made, held and failed, and the control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.audit.littles_law import LAW
from harness.analysis.stats.means import mean_within
from harness.analysis.stats.pairing import inputs_of
from harness.evidence import Evidence
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.questions.validity.audit import between_shares

#: part of the key -> the word in the table of checks
PARTS = {"held": "held", "failed": "failed", "not_applicable": "not applicable"}
NONE_FAILED = "none"


def publish_audit(
    publisher: Publisher, audited: pd.DataFrame, control: pd.DataFrame, experiments: Sequence[str]
) -> Published:
    """Publish ``validity.audit.{trials,made,held,failed,not_applicable}``, the same for each experiment behind
    ``<experiment>.``, the failures in words, and how many alterations the audit noticed."""
    with publisher.together():
        said = _counts(publisher, "validity.audit", audited)
        for name in experiments:
            said += _counts(publisher, f"validity.audit.{slug(name)}", audited[audited["experiment"] == name])
            said += _law(publisher, name, audited)
        made = len(control)
        said.append(_count(publisher, "validity.audit.altered", made or None, "alterations made"))
        noticed = int(control["noticed"].sum()) if made else None
        said.append(_count(publisher, "validity.audit.noticed", noticed, "alterations noticed"))
        said.append(
            publisher.text(
                "validity.audit.failures", failures_in_words(audited) if len(audited) else NOT_MEASURED
            )
        )
        if len(audited):
            publisher.text("validity.audit.measured", "measured")
        if (audited["result"] == "failed").any():
            publisher.text("validity.failures.measured", "measured")
    return joined(said)


def publish_between(publisher: Publisher, measured: Mapping[str, Evidence | None]) -> Published:
    """Publish ``validity.between.<experiment>``: the share of a user's cycle that the generator takes for itself."""
    said = []
    for name, evidence in measured.items():
        key, shares = f"validity.between.{slug(name)}", between_shares(evidence)
        if not shares:
            why = NOT_MEASURED if evidence is None else "no closed load with single requests"
            said.append(publisher.absent(key, "share", why))
            continue
        said.append(
            publisher.number(
                key,
                mean_within(
                    list(shares.values()), unit="share", inputs=tuple(shares),
                    what="share of a user's cycle inside the generator",
                ),
            )
        )  # fmt: skip
    return joined(said)


def audit_cells(audited: pd.DataFrame) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: one an experiment, with the names of the checks that failed."""
    rows: list[Mapping[str, Cell] | None] = []
    for name, mine in audited.groupby("experiment", sort=False):
        counts = mine["result"].value_counts()
        failed = mine.loc[mine["result"] == "failed", "check"].unique()
        rows.append(
            {
                "experiment": str(name),
                "trials": int(mine["trial_id"].nunique()),
                **{part: int(counts.get(word, 0)) for part, word in PARTS.items()},
                "which": "; ".join(map(str, failed)) or NONE_FAILED,
            }
        )
    return rows


def failure_cells(audited: pd.DataFrame) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: every check that failed, by experiment and tool, and the furthest trial."""
    failed = audited[audited["result"] == "failed"]
    rows: list[Mapping[str, Cell] | None] = []
    for (name, tool, check), mine in failed.groupby(["experiment", "generator", "check"], sort=False):
        away = (mine["found"] / mine["expected"] - 1).abs().fillna(float("inf"))
        worst = mine.iloc[int(away.to_numpy(dtype=np.float64).argmax())]
        rows.append(
            {
                "experiment": str(name),
                "generator": str(tool),
                "check": str(check),
                "trials": len(mine),
                "trial": str(worst["trial_id"]),
                "why": str(worst["why"]),
            }
        )
    return rows


def failures_in_words(audited: pd.DataFrame) -> str:
    """Return what failed, by tool: how many checks of how many trials."""
    failed = audited[audited["result"] == "failed"]
    parts = [
        f"{len(mine)} of {tool} ({'; '.join(mine['check'].unique())})"
        for tool, mine in failed.groupby("generator", sort=False)
    ]
    return ", ".join(parts) or NONE_FAILED


def _law(publisher: Publisher, name: str, audited: pd.DataFrame) -> list[Published]:
    """``validity.law.{least,most}.<experiment>``: measured throughput over that of the law of the closed loop."""
    mine = audited[(audited["experiment"] == name) & (audited["check"] == LAW) & audited["expected"].notna()]
    ratios = (mine["found"] / mine["expected"]).to_numpy(dtype=np.float64)
    said = []
    for part, of in (("least", np.min), ("most", np.max)):
        key = f"validity.law.{part}.{slug(name)}"
        if not ratios.size:
            said.append(publisher.absent(key, "ratio", NOT_MEASURED))
            continue
        found = Estimate(
            value=float(of(ratios)), unit="ratio", method="over trials", n_trials=ratios.size,
            estimand="measured throughput over that of the law of the closed loop", inputs=inputs_of(mine),
        )  # fmt: skip
        said.append(publisher.number(key, found))
    return said


def _counts(publisher: Publisher, prefix: str, rows: pd.DataFrame) -> list[Published]:
    n = len(rows)
    counts = rows["result"].value_counts()
    trials = rows[["experiment", "trial_id"]].drop_duplicates()
    made = n - int(counts.get("not applicable", 0))
    return [
        _count(publisher, f"{prefix}.trials", len(trials) if n else None, "trials audited"),
        _count(publisher, f"{prefix}.made", made if n else None, "checks made"),
        *(
            _count(publisher, f"{prefix}.{part}", int(counts.get(word, 0)) if n else None, f"checks: {word}")
            for part, word in PARTS.items()
        ),
    ]


def _count(publisher: Publisher, key: str, count: int | None, what: str) -> Published:
    if count is None:
        return publisher.absent(key, "1", NOT_MEASURED)
    counted = Estimate(value=count, unit="1", method="counted", estimand=what, n_trials=0)
    return publisher.number(key, counted)

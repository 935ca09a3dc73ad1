# SPDX-License-Identifier: Apache-2.0
"""Sessions at other places are compared trial against trial, at a margin that the drift between sessions allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.model import Verdict
from harness.rows import between
from harness.rows.schema import records
from harness.tests.support.made_up_trials import trial

BASE, AGAIN = "process, unpinned", "again, unpinned"


def place_trials() -> pd.DataFrame:
    """Made-up sessions: the first place, the same again, a container as fast, a far host of two thirds."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    sessions = (
        ("quick-local-1", "process", 1.0), ("quick-local-2", "again", 1.0),
        ("quick-local-container-1", "container", 1.0), ("quick-big-1", "far", 0.66),
    )  # fmt: skip
    for session, launcher, speed in sessions:
        for block in range(1, 9):
            for pinning in ("unpinned", "pinned"):
                value = 9000 * speed * float(np.exp(rng.normal(0, 0.01)))
                place = {"place": f"{launcher}, {pinning}", "launcher": launcher, "configuration": pinning}
                made = {"session_id": session, "throughput_per_s": value}
                rows.append(trial(len(rows), "go-nethttp", block, **place, **made))
    return pd.DataFrame(rows)


def rows_of(trials: pd.DataFrame) -> dict[str, dict[str, Any]]:
    rows = between(trials, "throughput_per_s", "throughput", factor="place", base=BASE, again=AGAIN)
    return {row["place"]: row for row in records(rows)}


def test_every_place_is_compared_with_the_first() -> None:
    rows = rows_of(place_trials())
    assert set(rows) == {"process, pinned", AGAIN, "again, pinned", "container, unpinned", "container, pinned",
                         "far, unpinned", "far, pinned"}  # fmt: skip
    assert {row["reference"] for row in rows.values()} == {BASE}
    assert rows["container, unpinned"]["verdict"] == Verdict.EQUIVALENT
    assert rows["far, unpinned"]["verdict"] == Verdict.DIFFERENT
    assert rows["far, unpinned"]["value"] == pytest.approx(0.66, rel=0.03)
    assert rows["far, unpinned"]["n_blocks"] == 8


def test_no_margin_is_taken_below_what_two_sessions_at_one_place_differ_by() -> None:
    trials = place_trials()
    trials.loc[trials["session_id"] == "quick-local-2", "throughput_per_s"] *= 1.12
    rows = rows_of(trials)
    assert rows["container, unpinned"]["margin"] > 0.12
    assert rows_of(place_trials())["container, unpinned"]["margin"] < 0.06


def test_two_trials_tell_nothing_of_the_noise_and_nothing_is_concluded_from_them() -> None:
    trials = place_trials()
    for row in rows_of(trials[trials["block"] <= 2]).values():
        assert (row["margin"], row["verdict"]) == (None, Verdict.INCONCLUSIVE)


def test_without_a_trial_of_the_first_place_there_are_no_rows() -> None:
    trials = place_trials()
    assert rows_of(trials[trials["launcher"] != "process"]) == {}

# SPDX-License-Identifier: Apache-2.0
"""A sweep over cores and its law; sessions at other places, trial against trial; contrasts of cells within blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.scaling import usl
from harness.errors import InputError
from harness.model import Verdict
from harness.rows import between, contrast, scaling_law
from harness.rows.schema import records
from harness.tests.support.made_up_trials import trial

RATE = "throughput_per_s"


def sweep_trials(sizes: tuple[int, ...], *, blocks: int = 6, shared: tuple[int, ...] = ()) -> pd.DataFrame:
    """Made-up trials: Go's log line costs a third everywhere, Java's a half on one core and less on more."""
    rng, noise = np.random.default_rng(1), 0.02
    rows: list[dict[str, object]] = []
    for block in range(1, blocks + 1):
        shift = rng.normal(0, noise)
        for variant, law in (("go-nethttp", (9000, 0.05, 0.002)), ("java-helidon", (6000, 0.02, 0.001))):
            for size in sizes:
                for logging in ("off", "on"):
                    kept = 1.0 if logging == "off" else 0.66 if variant == "go-nethttp" else 1 - 0.5 / size
                    value = float(usl([size], *law)[0]) * kept * float(np.exp(shift + rng.normal(0, noise)))
                    rows.append(trial(
                        len(rows), variant, block, cores=str(size), logging=logging, throughput_per_s=value,
                        flags="shared_cores" if size in shared else "", configuration=f"{variant},{size},{logging}",
                    ))  # fmt: skip
    return pd.DataFrame(rows)


def test_two_sizes_give_no_law_and_the_rows_say_why() -> None:
    rows = scaling_law(sweep_trials((1, 2)), RATE, by=["logging"])
    assert rows["value"].isna().all() and set(rows["unit"]) == {"1/s", "share", "cores"}
    assert set(rows["why"]) == {"2 numbers of cores, 0 of them shared with the generator; the law needs 3"}


def test_sizes_that_the_generator_shares_bend_no_law() -> None:
    trials = sweep_trials((1, 2, 4, 8), shared=(8,))
    trials.loc[trials["cores"] == "8", RATE] *= 0.5
    go = scaling_law(trials, RATE, by=["logging"], n_resamples=20).query("name == 'per_core'").iloc[0]
    assert go["value"] == pytest.approx(9000, rel=0.05)
    few = scaling_law(sweep_trials((1, 2, 4), shared=(4,)), RATE, by=["logging"])
    assert few["why"].str.contains("1 of them shared with the generator").all()


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


def corner(variant: str, method: str) -> dict[str, str]:
    return {"variant": variant, "method": method}


WARM = ([corner("java", "ours")], [corner("go", "ours")])
BY_METHOD = ([*WARM[0], corner("go", "old")], [*WARM[1], corner("java", "old")])


def corner_trials() -> pd.DataFrame:
    """Made-up trials: Java over Go is 2 by our method in each block, and 1, 2 and 4 by the old one; blocks differ."""
    rows: list[dict[str, object]] = []
    for block, old in ((1, 1.0), (2, 2.0), (3, 4.0)):
        for method, ratio in (("ours", 2.0), ("old", old)):
            for variant, over in (("go", 1.0), ("java", ratio)):
                made = {"method": method, "throughput_per_s": 1000.0 * block * over}
                rows.append(trial(len(rows), variant, block, **made))
    return pd.DataFrame(rows)


def test_a_contrast_is_a_ratio_of_ratios_within_blocks_with_students_interval() -> None:
    row = contrast(corner_trials(), RATE, "method", *BY_METHOD, effect="m").iloc[0]
    # 2, 1 and 1/2: mean 0 and deviation log 2 of the logarithms, and Student's t of two degrees of freedom
    half = 4.302653 * np.log(2) / np.sqrt(3)
    assert list(row[["low", "value", "high"]]) == pytest.approx(list(np.exp([-half, 0.0, half])))
    assert (row["kind"], row["effect"], row["n_blocks"], row["n_trials"]) == ("fit", "m", 3, 12)


def test_blocks_without_every_cell_are_left_out_and_without_any_there_is_a_reason() -> None:
    trials = corner_trials()
    lost = trials["block"].eq(3) & trials["method"].eq("old") & trials["variant"].eq("go")
    row = contrast(trials.assign(excluded=lost), RATE, "method", *BY_METHOD).iloc[0]
    assert row["value"] == pytest.approx(2**0.5)
    assert (row["n_blocks"], len(row["inputs"])) == (2, 8)
    none = contrast(trials[trials["variant"] != "go"], RATE, "method", *BY_METHOD).iloc[0]
    assert np.isnan(none["value"]) and none["why"] == "no block has a trial of every cell"


def test_a_contrast_of_cells_that_nothing_tells_apart_is_refused() -> None:
    with pytest.raises(InputError, match="several trials in one block"):
        contrast(corner_trials(), RATE, "method", [{"variant": "java"}], [{"variant": "go"}])
    with pytest.raises(InputError, match="as many cells over as under; found '2 and 1'"):
        contrast(corner_trials(), RATE, "method", BY_METHOD[0], WARM[1])

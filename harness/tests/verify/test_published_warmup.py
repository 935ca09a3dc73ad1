# SPDX-License-Identifier: Apache-2.0
"""Published classes of warm-up are compared with ours: files as Krun and warmup_stats write them."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.errors import InputError
from harness.formats.krun import read_krun
from harness.tests.support.command import run_here
from harness.verify.published_warmup import compare_published, their_rule

KEY = "spectralnorm:Hotspot:default-java"
ITERATIONS, STEADY = 400, 100


def levels(*parts: tuple[int, float], seed: int = 1) -> list[float]:
    """Iterations in seconds: so many at each level, and noise of a thousandth."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([np.full(n, level) for n, level in parts])
    return list((values + rng.normal(0.0, 0.001, len(values))).tolist())


#: By the rule of Barrett et al.: the class that each series has to get.
SERIES = {
    "flat": levels((ITERATIONS, 0.5)),
    "warmup": levels((50, 0.8), (ITERATIONS - 50, 0.5)),
    "slowdown": levels((50, 0.4), (ITERATIONS - 50, 0.5)),
    "no steady state": levels((340, 0.5), (ITERATIONS - 340, 0.6)),
}


def krun_file(folder: Path, **changed: Any) -> Path:
    plain: dict[str, Any] = {
        "audit": {"uname": "Linux bencher 4.9"},
        "wallclock_times": {KEY: [*SERIES.values(), []]},
        "core_cycle_counts": {KEY: [None] * 5},
        "all_outliers": {KEY: [[], [3], [], [399], []]},
        "classifications": {KEY: [*SERIES, "flat"]},
        "classifier": {"delta": "0.001", "steady": STEADY},
    } | changed
    path = folder / "results_changepoints.json.bz2"
    path.write_bytes(bz2.compress(json.dumps(plain).encode()))
    return path


def test_the_published_rule_gives_the_published_classes(tmp_path: Path) -> None:
    found = compare_published([krun_file(tmp_path)])
    assert found.n == len(SERIES), "an execution that crashed is left out"
    assert found.by_their_rule == {word: {word: 1} for word in SERIES}
    assert found.agreement("by_their_rule") == 1.0
    assert found.by_ours == {word: {word: 1} for word in SERIES}, "levels this far apart are told by both"


def test_a_tolerance_may_be_a_share_and_files_need_not_be_packed(tmp_path: Path) -> None:
    path = krun_file(tmp_path, classifier={"delta": "100%", "steady": STEADY})
    plain = tmp_path / "plain.json"
    plain.write_bytes(bz2.decompress(path.read_bytes()))
    assert read_krun(plain)[0].delta_share == 1.0
    classifier, executions = read_krun(plain)
    assert [their_rule(one, classifier) for one in executions] == ["flat"] * 4, "all levels are within it"


def test_a_class_that_is_not_ours_is_counted_as_a_difference(tmp_path: Path) -> None:
    times = {KEY: [SERIES["flat"]] * 2}
    path = krun_file(
        tmp_path, wallclock_times=times, all_outliers={}, classifications={KEY: ["warmup", "flat"]}
    )
    found = compare_published([path])
    assert found.by_their_rule["warmup"] == {"flat": 1}
    assert found.agreement("by_their_rule") == found.agreement("by_ours") == 0.5


def test_the_command_prints_both_tables_and_belongs_to_warmup(tmp_path: Path) -> None:
    one = {"wallclock_times": {KEY: [SERIES["flat"]]}, "classifications": {KEY: ["flat"]}, "all_outliers": {}}
    path = str(krun_file(tmp_path, **one))
    code, out, err = run_here(tmp_path, "verify", "warmup", "--krun", path)
    assert code == 0, err
    assert "1 process execution of 1 file" in out and "by the published rule: 100 % the same" in out
    code, out, err = run_here(tmp_path, "verify", "warmup", "--krun", path, "--json")
    assert code == 0 and json.loads(out)["n"] == 1, err
    code, _, err = run_here(tmp_path, "verify", "coverage", "--krun", path)
    assert code == 2 and "belongs to warmup" in err


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"classifications": None}, "classifications"),
        ({"classifications": {KEY: ["flat"]}}, KEY),
        ({"classifications": {KEY: ["flat", "flat", "flat", "quick", "flat"]}}, f"{KEY}: 3"),
        ({"wallclock_times": {KEY: [*SERIES.values(), [0.0, 1.0]]}}, f"{KEY}: 4"),
        ({"wallclock_times": {KEY: [*SERIES.values(), ["x"]]}}, f"{KEY}: 4"),
        ({"all_outliers": {KEY: [[-1], [], [], [], []]}}, f"{KEY}: 0"),
        ({"classifier": {"delta": "0.001"}}, "classifier"),
    ],
    ids=["none", "too few", "unknown class", "zero", "text", "outlier outside", "classifier"],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(
    tmp_path: Path, changed: dict[str, Any], place: str
) -> None:
    path = krun_file(tmp_path, **changed)
    with pytest.raises(InputError) as refused:
        read_krun(path)
    assert place in str(refused.value) and path.name in str(refused.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    for content in (b"not json", bz2.compress(b"{")[:10], b"BZh9 broken"):
        path = tmp_path / "broken.json.bz2"
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a result file of Krun"):
            read_krun(path)

# SPDX-License-Identifier: Apache-2.0
"""What was published of round 3 and of the sequel holds together, and what is said of it follows from its rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.model import Estimate
from harness.publish.results import leaves
from harness.questions.strings.sequels import (
    ROUND3,
    SEQUEL,
    published_round3,
    published_sequel,
    round3_results,
    sequel_results,
)
from harness.tests.support.synthetic import ROOT


def values(tree: object) -> dict[str, float]:
    return {
        ".".join(path): leaf.value
        for path, leaf in leaves(tree)  # type: ignore[arg-type]
        if isinstance(leaf, Estimate) and leaf.value is not None
    }


def test_round_3_has_sixteen_printed_rows_six_of_them_with_two_pairs_of_numbers() -> None:
    rows = published_round3()
    assert (rows["warm_up"] != "calls-1000").sum() == 16
    assert (rows["warm_up"] == "calls-1000").sum() == (rows["warm_up"] == "none").sum() == 6
    assert set(rows["source"]) == {"nelson2020"}
    cells = rows[rows["warm_up"] != "calls-1000"].groupby(["pods", "access"])["application"].nunique()
    assert (cells == 4).all() and len(cells) == 4


def test_the_ramp_limited_round_3_but_for_a_hundred_pods_inside_the_cluster() -> None:
    rows = published_round3()
    inside = (rows["pods"] == 100) & (rows["access"] == "clusterip")
    assert rows[~inside]["audit_ratio"].round(2).between(0.89, 1.05).all()
    assert rows[inside]["audit_ratio"].round(2).between(0.62, 0.78).all()


def test_native_over_go_and_pods_are_ratios_of_printed_throughputs() -> None:
    found = values(round3_results(published_round3()))
    percent = {name: 100 * (value - 1) for name, value in found.items()}
    assert percent["native.traefik_1"] == pytest.approx(7.9, abs=0.05)
    assert percent["native.traefik_100"] == pytest.approx(-1.2, abs=0.05)
    assert percent["native.clusterip_1"] == pytest.approx(-30.2, abs=0.05)
    assert percent["native.clusterip_100"] == pytest.approx(-1.8, abs=0.05)
    assert percent["pods.traefik"] == pytest.approx(7, abs=0.5)
    assert percent["pods.clusterip"] == pytest.approx(-22, abs=0.5)


def test_the_sequel_has_every_cell_of_every_program_once() -> None:
    rows = published_sequel()
    assert len(rows) == 4 * 7 * 3 and set(rows["source"]) == {"nelson2026"}
    assert not rows.duplicated(["payload_bytes", "users", "application"]).any()
    found = values(sequel_results(rows))
    assert found["jvm.cells"] == found["aot.cells"] == 28
    assert 0 < found["jvm.ahead"] < found["aot.ahead"] <= 28
    assert found["jvm.low"] < 1 < found["jvm.high"] and found["aot.low"] < 1 < found["aot.high"]


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (ROUND3, "source,table,", "source,round,", "wrong columns"),
        (ROUND3, "5.07,", "five,", "positive numbers"),
        (SEQUEL, "users,", "threads,", "wrong columns"),
        (SEQUEL, ",4501\n", ",0\n", "positive numbers"),
    ],
)
def test_what_is_no_such_table_is_refused_with_its_name(
    tmp_path: Path, file: Path, old: str, new: str, words: str
) -> None:
    target = tmp_path / file
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / file, target)
    target.write_text(target.read_text("utf-8").replace(old, new, 1), "utf-8")
    read = published_round3 if file == ROUND3 else published_sequel
    with pytest.raises(InputError, match=words):
        read(root=tmp_path)

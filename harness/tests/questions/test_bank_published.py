# SPDX-License-Identifier: Apache-2.0
"""What was published of the bank holds together, and ours stands beside it only where it is as heavy."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.errors import InputError
from harness.model import Estimate
from harness.model.formatting import show
from harness.publish.results import leaves
from harness.questions.bank.published import (
    FILE,
    capacity_effect,
    our_loads,
    published_bank,
    published_results,
    published_rows,
)
from harness.tests.support.synthetic import ROOT


def ours(levels: dict[str, float], *, go: float = 100.0, java: float = 150.0) -> pd.DataFrame:
    """A pressure table of five blocks: level -> offered per second, of which each answers up to its capacity."""
    rng = np.random.default_rng(3)
    rows: list[dict[str, object]] = []
    for block in range(1, 6):
        for level, offered in levels.items():
            for variant, capacity in (("go-gorilla", go), ("java-spring", java)):
                right = min(offered, capacity) * float(np.exp(rng.normal(0, 0.01)))
                rows.append({
                    "experiment": "bank-original", "source": "measured", "session_id": "s", "trial_id": f"{len(rows):04d}",
                    "block": block, "position": len(rows) + 1, "duplicate": False, "variant": variant, "users": level,
                    "configuration": f"{variant},{level}", "excluded": offered > 2 * capacity, "flags": "",
                    "offered_per_s": offered, "sustained_per_s": right, "error_share": 1 - min(1.0, right / offered),
                    "latency_mean_s": 0.02,
                })  # fmt: skip
    return pd.DataFrame(rows)


def test_the_ten_published_loads_hold_together() -> None:
    table = published_bank()
    assert table["users"].tolist() == [1000 * n for n in range(1, 11)]
    assert (table["java_answered_per_s"] <= table["offered_per_s"]).all()
    assert set(table["source"]) == {"nikitsenka2018"}
    assert table["load"].iloc[1] == pytest.approx(100 / (88.8 * (1 - 0.0107)))
    for name in ("go", "java"):  # of the three requests that each user sends, in so many seconds
        took = table["users"] * 3 / table[f"{name}_duration_s"]
        assert (took / table[f"{name}_answered_per_s"]).between(0.98, 1.02).all()
    assert table["java_right_per_s"].max() / table["go_right_per_s"].max() == pytest.approx(1.486, abs=0.001)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("source,users,", "source,persons,", "wrong columns"),
        ("88.8", "188.8", "more answered than offered"),
        ("1673", "x", "numbers"),
        ("17390,68,64", "17390,68,65", "another share"),
    ],
)
def test_a_published_table_that_does_not_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    shutil.copy(ROOT / FILE, tmp_path / FILE)
    text = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        published_bank(root=tmp_path)


def test_the_published_numbers_are_what_the_sentences_rest_on() -> None:
    found = {".".join(path): leaf for path, leaf in leaves(published_results(published_bank()))}
    said = {key: show(leaf).text for key, leaf in found.items() if isinstance(leaf, Estimate)}
    assert set(said) == set(found)
    assert said["clean_users"] == "1,000"
    assert (said["first_users.go"], said["first_users.java"]) == ("2,000", "3,000")
    assert said["last_failed.go"].startswith("39.3")
    assert said["capacity_ratio"] == "1.49"


def test_the_best_load_of_each_is_compared_even_where_trials_were_overloaded() -> None:
    found = capacity_effect(ours({"a": 50.0, "b": 500.0}))
    assert found is not None
    assert found.ratio.value == pytest.approx(1.5, rel=0.02)
    assert capacity_effect(None) is None
    only = ours({"a": 50.0})
    assert capacity_effect(only[only["variant"] == "go-gorilla"]) is None


def test_beside_a_published_load_stands_ours_as_heavy_or_nothing() -> None:
    table = ours({"share-40": 40.0, "share-140": 140.0, "share-280": 280.0})
    assert our_loads(table, "go-gorilla")["share-280"] == pytest.approx(2.8, rel=0.05)
    rows = published_rows(published_bank(), table)
    beside = [row["ours"] for row in rows]
    # 0.57, 1.1, 1.7, 2.3, 2.8, 3.4, 4.0 ... times what Go answered at best
    assert beside[:5] == [None, "share-140", "share-140", "share-280", "share-280"]
    assert beside[6:] == [None] * 4
    assert rows[0]["go_failed_ours"] is None
    third = rows[2]["go_failed_ours"]
    assert isinstance(third, Estimate)
    assert third.value == pytest.approx(1 - 100 / 140, abs=0.02)


def test_as_many_users_stand_beside_as_many_users() -> None:
    rows = published_rows(published_bank(), ours({"2000": 100.0, "3000": 5.0}))
    assert [row["ours"] for row in rows[1:3]] == ["2000", "3000"]
    assert published_rows(published_bank(), None) == []

# SPDX-License-Identifier: Apache-2.0
"""The dashboards of the rematch and the results of 2019 hold together, and a table that does not is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.model import Estimate
from harness.model.formatting import show
from harness.publish.results import leaves
from harness.questions.bank.published_rematch import (
    FILE,
    FILE_2019,
    TOTAL,
    published_2019,
    published_rematch,
    published_rematch_results,
)
from harness.tests.support.synthetic import ROOT


def test_neither_bank_of_the_rematch_was_near_a_limit() -> None:
    table = published_rematch()
    whole = table[table["request"] == TOTAL]
    assert len(whole) == 4
    assert (whole["answered_per_s"] / whole["offered_per_s"]).between(0.93, 0.99).all()
    busy_users = whole["answered_per_s"] * whole["latency_mean_ms"] / 1e3  # Little's law
    assert busy_users.max() < 6


def test_a_balance_grows_with_the_table_in_both_languages_and_an_insert_does_not() -> None:
    found = {
        ".".join(path): leaf
        for path, leaf in leaves(published_rematch_results(published_rematch(), published_2019()))
    }
    told = {key: leaf for key, leaf in found.items() if isinstance(leaf, Estimate)}
    for language in ("go", "java"):
        assert (told[f"balances.{language}"].value or 0) > 3
        assert (told[f"inserts.{language}"].value or 9) < 2
    assert show(told["mean_few.go"]).text.startswith("1.84")
    assert told["answered_many.java"].value == 1097.1


def test_the_pools_of_2019_are_no_more_than_two_connections() -> None:
    table = published_2019()
    assert table["pool_size"].max() == 2
    assert table.query("users == 10000")["answered_per_s"].between(480, 500).all()  # of the 500 offered


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (FILE, "go,4000,total,28000", "go,4000,total,28001", "do not add up"),
        (FILE, "go,4000,total,28000,1.84", "go,4000,total,28000,1.94", "do not add up"),
        (FILE, "go,4000,create-a", "go,4000,create-c", "seven requests"),
        (FILE, "2,2,2,447.8", "2,2,2,467.8", "more answered than offered"),
        (FILE_2019, "485.5,7,", "485.5,x,", "numbers"),
        (FILE_2019, "720.3", "790.3", "more answered than offered"),
        (FILE_2019, "pool_size", "pool", "wrong columns"),
    ],
)
def test_a_table_that_does_not_hold_together_is_refused_with_its_place(
    tmp_path: Path, file: Path, old: str, new: str, words: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    for one in (FILE, FILE_2019):
        shutil.copy(ROOT / one, tmp_path / one)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        published_rematch(root=tmp_path)
        published_2019(root=tmp_path)

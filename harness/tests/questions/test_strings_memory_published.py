# SPDX-License-Identifier: Apache-2.0
"""What the JVM said of its own memory in 2020 belongs to rows of the published rounds, and explains part of them."""

from __future__ import annotations

import pandas as pd

from harness.questions.strings.published import published_rounds
from harness.tests.support.synthetic import ROOT

ROW = ["source", "table", "application", "logging", "warm_up"]


def test_resident_memory_of_the_published_jvm_is_more_than_it_had_committed() -> None:
    told = pd.read_csv(ROOT / "data" / "published" / "strings-memory.csv", comment="#")
    both = told.merge(published_rounds(), on=ROW, validate="one_to_one")
    assert len(both) == len(told) == 2
    assert (both["committed_kb"] < both["reserved_kb"]).all()
    assert (both["rss_end_kb"] / both["committed_kb"]).between(2, 3).all()
    # less the classes' and the code's default share of what is reserved (1 GiB, 240 MiB), the heap was far below 147 MiB
    assert (both["reserved_kb"] - (1024 + 240) * 1024).max() < 150 * 1024

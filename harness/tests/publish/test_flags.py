# SPDX-License-Identifier: Apache-2.0
"""The table of what there is to doubt counts what the records say, and knows every flag there is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

from harness.evidence.opening import open_evidence
from harness.model import Flag
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import Publisher
from harness.publish.flags import FLAG_WORDS, flag_counts, flags_table
from harness.store import Store
from harness.tests.support.kept_sessions import lay_project


def test_every_flag_has_words() -> None:
    assert set(FLAG_WORDS) == set(get_args(Flag))


def test_the_table_counts_the_flags_of_the_records(tmp_path: Path) -> None:
    root = lay_project(tmp_path, profile="smoke", experiments=("strings-rounds",))
    settings = StageParameters(profile="smoke", experiments="strings-rounds")
    tidy_all(settings, root=root)
    recorded = Counter(
        flag for folder in Store(root).sessions() for record in folder.records() for flag in record.flags
    )
    assert recorded, "made-up sessions carry a flag, else this test says nothing"

    evidence = open_evidence(settings, "strings-rounds", root=root)
    assert {flag: count for flag, count in flag_counts(evidence).items() if count} == dict(recorded)
    flags_table(Publisher("20-tidy", root=root, publish=True), [evidence])
    text = (root / "paper" / "generated" / "tables" / "session-flags.tex").read_text()
    for flag in FLAG_WORDS:
        assert (FLAG_WORDS[flag] in text) == (flag in recorded)

# SPDX-License-Identifier: Apache-2.0
"""Figures and captions name a cell in words, not by the keys of an experiment."""

from __future__ import annotations

import pytest

from harness.model.digits import cell_words, level_words


@pytest.mark.parametrize(
    ("factor", "level", "words"),
    [
        ("logging", "off", "no log line"),
        ("warm_up", "none", "no warm-up"),
        ("warm_up", "calls-1000", "1,000 warm-up calls"),
        ("connections", "pool-20", "pool of 20"),
        ("users", "share-50", "50 % of capacity"),
        ("users", "100", "users 100"),
        ("generator_cpus", "one", "generator-cpus one"),
        ("payload", 128, "payload 128"),
    ],
)
def test_a_level_is_said_in_words_and_an_unknown_one_by_its_factor(
    factor: str, level: object, words: str
) -> None:
    assert level_words(factor, level) == words


def test_a_cell_names_its_levels_in_their_order_and_none_is_nothing() -> None:
    assert cell_words({"logging": "on", "warm_up": "none"}) == "a log line, no warm-up"
    assert cell_words({}) == ""

# SPDX-License-Identifier: Apache-2.0
"""One rule of digits for every measured number."""

from __future__ import annotations

import math

import pytest

from harness.model.digits import cell_words, decimals, level_words, percent, plain, spoken


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (67.1882, 67.1041, 67.2733, "67.188 (67.104 to 67.273)"),
        (1.36279, 1.35971, 1.36581, "1.3628 (1.3597 to 1.3658)"),
        (910.4, 799.7, 1037.2, "910 (800 to 1,040)"),
        (15330.6, 14800, 15900, "15,330 (14,800 to 15,900)"),
        (1.0, 0.90044, 1.09964, "1.00 (0.90 to 1.10)"),  # half-width .0996 rounds to .10
        (-0.0312, -0.14, 0.08, "−0.03 (−0.14 to 0.08)"),
        (42.3, 19.1, 89.4, "42 (19 to 89)"),
        (0.873, 0.021, 36.4, "0.87 (0.02 to 36.40)"),  # half-width above the value: the shorter side
        (0.0, 0.0, 0.0312, "0.000 (0.000 to 0.031)"),
        (2.0, None, 3.5, "2.0 (up to 3.5)"),
        (2.0, 1.5, None, "2.00 (from 1.50)"),
        (12.3456, None, None, "12.3"),
        (0.0, None, None, "0"),
    ],
)
def test_bounds_end_at_two_digits(value: float, low: float | None, high: float | None, text: str) -> None:
    assert spoken(value, low, high) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3014.7, "3,010"), (0.112345, "0.112"), (0.3, "0.300"), (12, "12"), (12345, "12,345"), (9.996, "10.0")],
)
def test_a_number_without_an_interval_has_three_digits_and_a_count_all(value: float, text: str) -> None:
    assert plain(value) == text


def test_a_share_has_two_digits() -> None:
    assert [percent(share) for share in (0.0, 0.0051, 0.0738, 0.345, 3.45)] == [
        "0 %", "0.51 %", "7.4 %", "34 %", "345 %",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [0.0, 1e-12, 5e300, -3.0, math.inf])
def test_any_number_can_be_printed(value: float) -> None:
    assert spoken(value)
    assert isinstance(decimals(value, 0.0, 1.0), int)


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
def test_a_level_is_said_in_words_or_by_its_factor(factor: str, level: object, words: str) -> None:
    assert level_words(factor, level) == words


def test_a_cell_names_its_levels_in_their_order_and_none_is_nothing() -> None:
    assert cell_words({"logging": "on", "warm_up": "none"}) == "a log line, no warm-up"
    assert cell_words({}) == ""

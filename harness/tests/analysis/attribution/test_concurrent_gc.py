# SPDX-License-Identifier: Apache-2.0
"""Requests that meet a span that slows without stopping, against the others."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.attribution.attribute import excess_in_spans
from harness.errors import InputError

SPANS = [(float(start), float(start) + 0.2) for start in range(30)]


def requests(rng: np.random.Generator, slowed_by: float) -> tuple[np.ndarray, np.ndarray]:
    start = np.sort(rng.uniform(0, 30, 30_000))
    inside = start % 1.0 < 0.2
    return start, rng.lognormal(np.log(0.002), 0.3, len(start)) * np.where(inside, slowed_by, 1.0)


def test_slow_requests_that_come_with_a_span_are_counted() -> None:
    start, latency = requests(np.random.default_rng(1), 3.0)
    # three times slower: nobody else is in the tail
    assert excess_in_spans(start, latency, SPANS) == pytest.approx(1.0, abs=0.01)


def test_a_span_that_slows_nothing_explains_nothing() -> None:
    found = [excess_in_spans(*requests(np.random.default_rng(seed), 1.0), SPANS) for seed in range(30)]
    assert np.mean([excess for excess in found if excess is not None]) == pytest.approx(0.0, abs=0.01)


def test_a_long_request_meets_more_spans_and_is_not_blamed_on_them() -> None:
    rng = np.random.default_rng(3)
    start = np.sort(rng.uniform(0, 30, 30_000))
    latency = np.where(rng.random(len(start)) < 0.02, 0.9, 0.002)  # long whenever they start
    assert excess_in_spans(start, latency, SPANS) == pytest.approx(0.0, abs=0.05)


def test_too_few_on_one_side_is_not_computed() -> None:
    start, latency = requests(np.random.default_rng(1), 1.0)
    assert [excess_in_spans(start, latency, spans) for spans in ([], [(-1.0, 31.0)])] == [None, None]


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="two arrays of one length"):
        excess_in_spans(np.zeros(3), np.zeros(2), SPANS)
    with pytest.raises(InputError, match="between 0 and 1"):
        excess_in_spans(np.zeros(3), np.ones(3), SPANS, quantile=1.0)

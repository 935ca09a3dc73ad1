# SPDX-License-Identifier: Apache-2.0
"""What holds for every public estimator, whatever the data: the unit, the order, the origin of time, the arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from harness.analysis import stats
from harness.errors import InputError
from harness.model import Estimate
from harness.tests.support.estimator_table import TABLE, Numbers, Row

FEW = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 10_000)

DEGENERATE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "empty": lambda x: x[:0],
    "one value": lambda x: x[:1],
    "constant": lambda x: np.full_like(x, x.ravel()[0]),
    "zeros": np.zeros_like,
    "ties": lambda x: np.round(x, 0) + 1.0,
    "NaN": lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size // 2, np.nan, x),
    "infinity": lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size // 2, np.inf, x),
}


def having(field: str) -> list[Any]:
    return [pytest.param(row, id=str(row)) for row in TABLE if getattr(row, field)]


def numbers_of(row: Row, arrays: tuple[np.ndarray, ...]) -> Numbers:
    return row.read(row.call(*arrays))


def changed(row: Row, arrays: tuple[np.ndarray, ...], at: tuple[int, ...], by: Any) -> Numbers:
    return numbers_of(row, tuple(by(x) if i in at else x for i, x in enumerate(arrays)))


def assert_same(found: Numbers, wanted: Numbers, rel: float) -> None:
    assert len(found) == len(wanted)
    for mine, other in zip(found, wanted, strict=True):
        if other is None:
            assert mine is None
        else:
            assert mine == pytest.approx(other, rel=rel, abs=1e-300)


def test_every_estimator_of_arrays_is_in_the_table() -> None:
    modules = [import_module(f"{stats.__name__}.{one.name}") for one in iter_modules(stats.__path__)]
    estimators = {
        name
        for module in modules
        for name, function in vars(module).items()
        if isfunction(function) and not name.startswith("_")
        if (kinds := list(function.__annotations__.values()))[:1] == ["ArrayLike"] and kinds[-1] == "Estimate"
    }
    assert {"effect_size_ci", "mean_ci"} < estimators
    # test_scaling.py has theirs
    assert estimators - {row.name for row in TABLE} == {"knee", "saturation"}


@pytest.mark.parametrize("row", having("scaled"))
@FEW
@given(seed=seeds, exponent=st.integers(-30, 30))
def test_another_unit_changes_nothing_but_the_unit(row: Row, seed: int, exponent: int) -> None:
    arrays = row.make(np.random.default_rng(seed))
    scale = 2.0**exponent  # a power of two changes no digit: what differs is not rounding
    factor = scale if row.unit == "times" else 1.0
    wanted = [None if n is None else n * factor for n in numbers_of(row, arrays)]
    assert_same(changed(row, arrays, row.scaled, lambda x: x * scale), wanted, row.rel)


@pytest.mark.parametrize("row", having("permuted"))
@FEW
@given(seed=seeds)
def test_the_order_of_the_rows_changes_nothing(row: Row, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = row.make(rng)
    order = rng.permutation(len(arrays[row.permuted[0]]))
    assert_same(changed(row, arrays, row.permuted, lambda x: x[order]), numbers_of(row, arrays), row.rel)


@pytest.mark.parametrize("row", having("moved"))
@FEW
@given(seed=seeds, shift=st.sampled_from([-1000.0, 3.0, 4096.0]))
def test_the_origin_of_time_changes_nothing(row: Row, seed: int, shift: float) -> None:
    arrays = row.make(np.random.default_rng(seed))
    moved = changed(row, arrays, row.moved, lambda x: x + shift)
    assert_same(moved, numbers_of(row, arrays), max(row.rel, 1e-5))


@pytest.mark.parametrize("row", having("swapped"))
@FEW
@given(seed=seeds)
def test_swapping_the_arms_turns_the_result_round(row: Row, seed: int) -> None:
    a, b, *rest = row.make(np.random.default_rng(seed))
    plain, swapped = numbers_of(row, (a, b, *rest)), numbers_of(row, (b, a, *rest))
    if row.swapped == "inverts":
        value, low, high = (None if n is None else 1 / n for n in plain)
        assert_same(swapped, [value, high, low], row.rel)
    else:
        assert_same(swapped, plain, row.rel)


def parts_of(result: Any) -> Iterator[Any]:
    """Yield a result and whatever it holds."""
    yield result
    held: list[Any] = []
    if isinstance(result, BaseModel):
        held = [getattr(result, name) for name in type(result).model_fields]
    elif isinstance(result, pd.DataFrame):
        held = list(result["estimate"])
    elif isinstance(result, dict):
        held = list(result.values())
    elif isinstance(result, (list, tuple)):
        held = list(result)
    elif isinstance(result, np.ndarray):
        held = result.ravel().tolist()
    for part in held:
        yield from parts_of(part)


def assert_honest(result: Any) -> None:
    for one in parts_of(result):
        if isinstance(one, (float, np.floating)):
            assert math.isfinite(one)
        if not isinstance(one, Estimate):
            continue
        if one.value is None or one.low is None or one.high is None:
            assert one.warnings, one
        if one.value is None:
            assert (one.low, one.high) == (None, None), one
        if one.low is not None and one.high is not None:
            assert one.low < one.high or one.warnings, one


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("row", [pytest.param(row, id=str(row)) for row in TABLE])
def test_bad_data_get_an_error_or_an_honest_answer(row: Row, kind: str) -> None:
    arrays = row.make(np.random.default_rng(1))
    spoils = [(i,) for i in row.bad] + ([row.bad] if len(row.bad) > 1 else [])
    for at in spoils:
        spoilt = tuple(DEGENERATE[kind](x) if i in at else x for i, x in enumerate(arrays))
        try:
            result = row.call(*spoilt)
        except InputError:
            continue
        assert_honest(result)
        if kind in {"NaN", "infinity"}:
            # A trial without a value is left out and counted where a table of trials says that it is missing.
            of_tables = {"compare", "aa_noise", "summarise", "power_curve", "interactions"}
            assert row.name in of_tables, f"{row}: {kind} gave {result}"

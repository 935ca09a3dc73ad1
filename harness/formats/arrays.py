# SPDX-License-Identifier: Apache-2.0
"""Types of arrays, by what they hold, and the same rows of several."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
#: Places in a list of names.
CodeArray = npt.NDArray[np.int32]
IntArray = npt.NDArray[np.int64]
#: The code of each row, shape (n,), and the texts that the codes stand for.
Texts = tuple[CodeArray, tuple[str, ...]]

Columns = TypeVar("Columns", bound=Any)


def with_rows(columns: Columns, rows: npt.NDArray[Any]) -> Columns:
    """Return a dataclass of arrays with only these of their rows: a mask, or indices in the order wanted."""
    arrays = {item.name: getattr(columns, item.name) for item in fields(columns)}
    return replace(
        columns, **{name: each[rows] for name, each in arrays.items() if isinstance(each, np.ndarray)}
    )

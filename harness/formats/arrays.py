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


def with_rows(columns: Columns, keep: BoolArray, *rest: str) -> Columns:
    """Return a dataclass of arrays with only some of their rows; ``rest``: names of arrays that are no columns.

    Args:
        keep: shape (n,).
    """
    arrays = {item.name: getattr(columns, item.name) for item in fields(columns) if item.name not in rest}
    return replace(
        columns, **{name: each[keep] for name, each in arrays.items() if isinstance(each, np.ndarray)}
    )

# SPDX-License-Identifier: Apache-2.0
"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
#: Places in a list of names.
CodeArray = npt.NDArray[np.int32]
IntArray = npt.NDArray[np.int64]

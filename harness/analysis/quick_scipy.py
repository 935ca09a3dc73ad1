# SPDX-License-Identifier: Apache-2.0
"""Load SciPy's special functions and filters in a third of their time, for a command that needs nothing else of it.

``scipy.special`` begins by copying every public name of NumPy into the namespace of an array library, which makes
NumPy load the packages that it would load on demand only: f2py, the helpers of its tests, masked arrays and others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy as np

#: Packages of NumPy that neither the functions nor the filters use. They still load when somebody uses them.
_ON_DEMAND = frozenset({"char", "core", "ctypeslib", "f2py", "ma", "polynomial", "rec", "strings", "testing"})
#: Where NumPy lists its public names: for ``import *``, and for ``dir``.
_LISTS = ("__all__", "__numpy_submodules__")


def load_scipy() -> None:
    """Import ``scipy.special`` and ``scipy.ndimage``."""
    with _fewer_public_names():
        for name in ("scipy.special", "scipy.ndimage"):
            import_module(name)


@contextmanager
def _fewer_public_names() -> Iterator[None]:
    """Leave the packages on demand out of NumPy's lists of public names for a while."""
    lists = {name: getattr(np, name) for name in _LISTS if hasattr(np, name)}
    try:
        for name, names in lists.items():
            setattr(np, name, type(names)(one for one in names if one not in _ON_DEMAND))
        yield
    finally:
        for name, names in lists.items():
            setattr(np, name, names)

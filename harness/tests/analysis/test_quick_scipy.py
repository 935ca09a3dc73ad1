# SPDX-License-Identifier: Apache-2.0
"""SciPy's functions load without the packages that NumPy loads on demand, which load later all the same."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
from harness.analysis.quick_scipy import load_scipy
public, submodules = list(np.__all__), set(np.__numpy_submodules__)
load_scipy()
import scipy
print(*[name for name in ("f2py", "testing", "ma", "polynomial") if f"numpy.{name}" in sys.modules])
assert "scipy.special" in sys.modules and "scipy.ndimage" in sys.modules
assert list(np.__all__) == public and set(np.__numpy_submodules__) == submodules
assert np.ma.masked is not None and np.testing.assert_equal is not None
print(repr(float(scipy.special.stdtrit(29.0, 0.975))), scipy.ndimage.median_filter(np.arange(5.0), size=3).tolist())
import scipy.stats
print(round(float(scipy.stats.norm.ppf(0.975)), 6))
"""


def test_the_functions_load_without_what_numpy_loads_on_demand() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded, values, later = done.stdout.splitlines()
    assert loaded == ""
    import numpy as np
    import scipy

    here = scipy.ndimage.median_filter(np.arange(5.0), size=3).tolist()
    assert values == f"{float(scipy.special.stdtrit(29.0, 0.975))!r} {here}"
    assert later == "1.959964"

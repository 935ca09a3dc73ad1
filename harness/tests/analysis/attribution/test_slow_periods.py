# SPDX-License-Identifier: Apache-2.0
"""The written-out laws of counts are those of SciPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from harness.analysis.attribution.slow_periods import _log_chance


@pytest.mark.parametrize("n", [1, 7, 400])
def test_counts_have_the_chance_that_scipy_gives_them(n: int) -> None:
    k = np.arange(n + 1)
    assert _log_chance(k, n, None, 0.03) == pytest.approx(stats.binom.logpmf(k, n, 0.03), rel=1e-9)
    law = (0.4, 12.0)
    assert _log_chance(k, n, law, 0.03) == pytest.approx(stats.betabinom.logpmf(k, n, *law), rel=1e-9)


def test_a_report_loads_neither_plots_nor_tables_nor_laws_that_it_does_not_use(tmp_path: Path) -> None:
    code = (
        "import sys, contextlib, io, pathlib; from harness.report.output import main\n"
        "with contextlib.redirect_stdout(io.StringIO()): main([pathlib.Path(sys.argv[1])], as_json=True)\n"
        "print([m for m in ('matplotlib', 'pandas', 'scipy.stats', 'statsmodels') if m in sys.modules])"
    )
    jtl = tmp_path / "r.jtl"
    rows = "".join(f"{1_700_000_000_000 + 9 * i},{5 + i % 3},a,200,true\n" for i in range(500))
    jtl.write_text("timeStamp,elapsed,label,responseCode,success\n" + rows)
    argv = [sys.executable, "-c", code, str(jtl)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

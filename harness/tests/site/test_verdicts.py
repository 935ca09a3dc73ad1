# SPDX-License-Identifier: Apache-2.0
"""The page's script decides as the analysis does, at every margin."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.stats.verdicts import decide
from harness.model import Estimate
from harness.site import page
from harness.site.verdicts import constants
from harness.tests.support.available import program_or_not_run

MARGINS = (0.01, 0.05, 0.1, 0.25, 0.26, 0.5)
_SCRIPT = Path(page.__file__).with_name("templates") / "site.js"
_DRIVER = """
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.rows.map((row) => asked.margins.map((margin) => [
  decide(row, margin, asked.rule), marginOf(row, margin, asked.rule)]))));
"""


def _ratio(low: float | None, high: float | None) -> Estimate:
    return Estimate(value=1.0, low=low, high=high, unit="ratio", method="m", estimand="", n_trials=5)


def _rows() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    bounds = [(None, None), (0.5, 0.9), (0.98, 1.02), (1.0, 1.2), (1.01, 1.04), (1 / 1.05, 1.05), (0.9, 1.4)]
    rows = [
        {"low": low, "high": high, "low90": low90, "high90": high90, "blocks": blocks, "noise": noise, "p": p, "about": about}
        for (low, high), (low90, high90), blocks, noise, p, about in product(
            bounds, bounds, (4, 5, 20), (None, 0.02, 0.25, 0.4), (None, 0.05, 0.06), (True, False)
        )
    ]  # fmt: skip
    chosen = [rows[place] for place in rng.choice(len(rows), 1500, replace=False)]
    for _ in range(500):
        low, low90, high90, high = np.sort(np.exp(rng.normal(0, 0.1, 4)))
        chosen.append({"low": low, "high": high, "low90": low90, "high90": high90, "blocks": int(rng.integers(3, 12)),
                       "noise": float(rng.uniform(0, 0.3)), "p": float(rng.uniform(0, 0.1)), "about": True})  # fmt: skip
    return chosen


def _python(row: dict[str, Any], margin: float) -> list[Any]:
    # what a comparison holds is the p-value that may be printed: with a family of one it is taken as it is
    said = decide(
        _ratio(row["low"], row["high"]),
        _ratio(row["low90"], row["high90"]),
        n_blocks=row["blocks"],
        margin=margin,
        noise=row["noise"],
        p_adjusted=row["p"],
        not_about=None if row["about"] else "bound by the generator",
        p_has_least=False,
    )
    return [said.verdict.value, said.margin if row["about"] else None]


def test_the_script_of_the_page_decides_as_the_analysis_does() -> None:
    rows = _rows()
    asked = json.dumps({"rows": rows, "margins": MARGINS, "rule": constants()})
    done = subprocess.run(
        [str(program_or_not_run("node")), "-e", _SCRIPT.read_text("utf-8") + _DRIVER],
        input=asked, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = [[_python(row, margin) for margin in MARGINS] for row in rows]
    assert json.loads(done.stdout) == expected
    assert len({verdict for row in expected for verdict, _ in row}) == 5

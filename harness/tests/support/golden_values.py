# SPDX-License-Identifier: Apache-2.0
"""Golden values: every published number and verdict of the bundled sessions, compared with those of a build.

``python -m harness.tests.support.golden_values`` compares what the notebooks published of the bundled sessions with the
committed file; exit status 1: a value differs. ``--write`` replaces the committed file.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.publish.generated import GENERATED, read_values

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "harness" / "tests" / "golden" / "published" / "values.csv.gz"
COMMAND = "python -m harness.tests.support.golden_values --write"
#: Of the same estimate on another processor.
RELATIVE = 1e-9
SHOWN = 20


class Golden(NamedTuple):
    """One published number with its verdict in words; an empty text: it has none."""

    value: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: str

    def equals(self, built: Golden) -> bool:
        """Return whether unit and verdict are the same, and the numbers but for rounding."""
        return self[3:] == built[3:] and all(
            a is b if a is None or b is None else math.isclose(a, b, rel_tol=RELATIVE)
            for a, b in zip(self[:3], built[:3], strict=True)
        )

    def __str__(self) -> str:
        numbers = " ".join("-" if part is None else repr(part) for part in self[:3])
        return " ".join(filter(None, (numbers, self.unit, self.verdict)))


def golden_of(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Golden]:
    """Return what is compared of published values: numbers and verdicts, no facts in words."""
    return {
        key: Golden(
            entry["value"],
            entry["low"],
            entry["high"],
            entry["unit"],
            entry["text"] if entry["method"] == "verdict" else entry.get("words", ""),
        )
        for key, entry in values.items()
        if entry["method"] != "text"
    }


def read_golden(path: Path = GOLDEN) -> dict[str, Golden]:
    """Return the committed values by key."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {
        key: Golden._make((*(float(cell) if cell else None for cell in numbers), unit, verdict))
        for key, *numbers, unit, verdict in rows
    }


def write_golden(values: Mapping[str, Golden], path: Path = GOLDEN) -> None:
    """Write values by key; the same values give the same bytes."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("key", *Golden._fields))
    for key in sorted(values):
        lines.writerow((key, *("" if part is None else part for part in values[key])))
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def differences(golden: Mapping[str, Golden], built: Mapping[str, Golden]) -> list[str]:
    """Return one line for each value that differs, is missing, or is not among the golden ones."""
    lines = []
    for key, expected in golden.items():
        if key not in built:
            lines.append(f"{key}: missing, was {expected}")
        elif not expected.equals(built[key]):
            lines.append(f"{key}: was {expected}, is {built[key]}")
    return lines + [f"{key}: new, {entry}" for key, entry in built.items() if key not in golden]


def main() -> int:
    """Compare a build with the golden values, or write them anew."""
    values = read_values(ROOT)
    inputs = [trial for entry in values.values() for trial in entry["inputs"]]
    if not values or not all(trial.startswith("bundled/") for trial in inputs):
        print(
            f"{GENERATED}: not of bundled sessions alone; first: make paper PROFILE=sample", file=sys.stderr
        )
        return 2
    built = golden_of(values)
    if "--write" in sys.argv[1:]:
        write_golden(built)
        print(f"{len(built)} values written to {GOLDEN.relative_to(ROOT)}")
        return 0
    lines = differences(read_golden(), built)
    for line in lines[:SHOWN]:
        print(line)
    print(f"{len(built)} values: {len(lines)} differ" + (f"; if intended: {COMMAND}" if lines else ""))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())

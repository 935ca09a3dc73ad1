# SPDX-License-Identifier: Apache-2.0
"""Golden values: every published number and verdict of the bundled sessions, compared with those of a build.

``python -m harness.tests.support.golden_values`` compares what the notebooks published of the bundled sessions with the
committed file; exit status 1: a value differs. ``--write`` replaces the committed file.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
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


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def read_golden(path: Path = GOLDEN) -> dict[str, Golden]:
    """Return the committed values by key."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["key"]: Golden(
            _number(row["value"]), _number(row["low"]), _number(row["high"]), row["unit"], row["verdict"]
        )
        for row in rows
    }


def write_golden(values: Mapping[str, Golden], path: Path = GOLDEN) -> None:
    """Write values by key; the same values give the same bytes."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("key", *Golden._fields))
    for key in sorted(values):
        lines.writerow((key, *("" if part is None else part for part in values[key])))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def differences(golden: Mapping[str, Golden], built: Mapping[str, Golden]) -> list[str]:
    """Return one line for each value that differs, is missing, or is not among the golden ones."""
    lines = []
    for key, expected in golden.items():
        if key not in built:
            lines.append(f"{key}: missing, was {_text(expected)}")
        elif not _equal(expected, built[key]):
            lines.append(f"{key}: was {_text(expected)}, is {_text(built[key])}")
    return lines + [f"{key}: new, {_text(entry)}" for key, entry in built.items() if key not in golden]


def _equal(a: Golden, b: Golden) -> bool:
    return a.unit == b.unit and a.verdict == b.verdict and all(map(_close, a[:3], b[:3]))


def _close(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else math.isclose(a, b, rel_tol=RELATIVE)


def _text(one: Golden) -> str:
    numbers = " ".join("-" if part is None else repr(part) for part in one[:3])
    return " ".join(filter(None, (numbers, one.unit, one.verdict)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare a build with the golden values, or write them anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="replace the golden values by those of the build"
    )
    asked = parser.parse_args(arguments)
    values = read_values(ROOT)
    if not values:
        print(f"{GENERATED}: nothing published; run first: make paper PROFILE=sample", file=sys.stderr)
        return 2
    measured = next((key for key, entry in values.items() if _measured(entry["inputs"])), None)
    if measured is not None:
        print(f"{measured}: of trials measured here; run first: make paper PROFILE=sample", file=sys.stderr)
        return 2
    built = golden_of(values)
    if asked.write:
        write_golden(built)
        print(f"{len(built)} values written to {GOLDEN.relative_to(ROOT)}")
        return 0
    lines = differences(read_golden(), built)
    for line in lines[:SHOWN]:
        print(line)
    print(f"{len(built)} values: {len(lines)} differ" + (f"; if intended: {COMMAND}" if lines else ""))
    return 1 if lines else 0


def _measured(inputs: Iterable[str]) -> bool:
    return any(not trial.startswith("bundled/") for trial in inputs)


if __name__ == "__main__":
    raise SystemExit(main())

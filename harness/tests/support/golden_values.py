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
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.cli.published import GENERATED, published_values

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "harness" / "tests" / "golden" / "published" / "values.csv.gz"
COMMAND = "python -m harness.tests.support.golden_values --write"
#: Of the same estimate on another processor.
RELATIVE = 1e-9
SHOWN = 20
#: Keys before a question published rows -> its keys since then; an old verdict stands beside the ratio now. Patterns of
#: a question may go when the golden file was written again.
MOVED: tuple[tuple[str, str], ...] = (
    (r"startup\.first\.(?:ratio|verdict)\.(.+)", r"startup.first.ratio.\1"),
    (r"startup\.aot\.(?:ratio|verdict)\.(.+)", r"startup.aot.ratio.\1_aot"),
    (r"startup\.(first|idle_memory)\.(\w+)", r"startup.\1.mean.\2"),
    (r"memory\.(?:ratio|verdict)\.(.+)", r"startup.memory_after.ratio.\1"),
    (r"memory\.after\.(.+)", r"startup.memory_after.mean.\1"),
    (
        r"runtimes\.(bank|clients|pollers)\.(throughput|cpu|memory)\.(?:ratio|verdict)\.(\w+)",
        r"runtimes.\2.ratio.\1.\3",
    ),
    (
        r"runtimes\.release\.throughput\.(?:ratio|verdict)\.go_1\.(\d+)",
        r"runtimes.release_throughput.ratio.strings.go_1_\1",
    ),
    (
        r"runtimes\.release\.throughput\.(?:ratio|verdict)\.(\w+)",
        r"runtimes.release_throughput.ratio.strings.\1",
    ),
    (r"collectors\.(throughput|cpu|memory)\.(?:ratio|verdict)\.(\w+)", r"collectors.\1.ratio.\2"),
    (r"collectors\.enough\.memory\.(\w+)", r"collectors.enough.mean.\1"),
    (r"collectors\.enough\.(?:ratio|verdict)\.java", r"collectors.enough.ratio.java"),
    (r"kubernetes\.limits\.cpu_lead\.(\w+)\.(?:ratio|verdict)\.(\w+)", r"kubernetes.cpu.ratio.\1.\2"),
    (r"clients\.craft\.(idiomatic|tuned)\.(\w+)\.(?:ratio|verdict)\.(\w+)", r"clients.\2.ratio.\1.\3"),
    (
        r"clients\.craft\.tuned_over_idiomatic\.(\w+)\.(?:ratio|verdict)\.(\w+)",
        r"clients.\1_by_craft.ratio.tuned.\2",
    ),
    (
        r"clients\.hello\.last_over_first\.(\w+)\.(?:ratio|verdict)\.(\w+)",
        r"clients.\1_by_part.ratio.4.hello.\2",
    ),
    (r"clients\.hello\.last\.(\w+)\.(?:ratio|verdict)\.(\w+)", r"clients.last_\1.ratio.hello.\2"),
    (r"clients\.(cpu|memory)\.(?:ratio|verdict)\.(\w+)", r"clients.\1.ratio.\2"),
    (
        r"strings\.(throughput|cpu|latency)\.(?:ratio|verdict)\.(\w+)\.logging_(\w+)\.warm_up_(\w+)",
        r"strings.\1.ratio.\3.\4.\2",
    ),
    (r"strings\.(throughput|cpu|latency)\.(?:ratio|verdict)\.(\w+)", r"strings.\1.ratio.off.calls_1000.\2"),
    (r"strings\.throughput\.rate\.(\w+)", r"strings.rate.mean.off.calls_1000.\1"),
    (r"strings\.(latency|cpu)\.mean\.(\w+)", r"strings.\1.mean.off.calls_1000.\2"),
    (r"headline\.([a-z]+)_(?:cores|share)\.(\w+)", r"strings.\1.mean.off.calls_1000.\2"),
    (r"strings\.logging\.(?:ratio|verdict)\.(\w+)", r"strings.log_line.ratio.on.\1"),
    (r"strings\.warm_up\.(?:ratio|verdict)\.(\w+)", r"strings.calls.ratio.calls_1000.\1"),
    (r"strings\.payload\.bytes_(\d+)\.(?:ratio|verdict)\.(\w+)", r"strings.size.ratio.\1.\2"),
    (r"published\.audit\.n", r"strings.audit_rows.count"),
    (r"published\.audit\.(low|median|high)", r"strings.audit_\1.count"),
    (
        r"strings_published\.log\.saturation\.(\w+)\.(?:ratio|verdict)\.(\w+)",
        r"strings.log_\1.ratio.saturation.on.\2",
    ),
    (
        r"strings_published\.log\.plan\.(\w+)\.(?:ratio|verdict)\.(\w+)",
        r"strings.log_\1.ratio.published.on.\2",
    ),
    (
        r"strings_published\.lock\.none\.(\w+)\.(?:ratio|verdict)\.(\w+)",
        r"strings.lock_\1.ratio.\2.helidon_unlocked",
    ),
    (r"bank\.pooled\.serve\.(?:ratio|verdict)\.(\w+)", r"bank.serve.ratio.pool_20.share_90.\1"),
    (r"bank\.pooled_md5\.serve\.(?:ratio|verdict)\.(\w+)", r"bank.serve_md5.ratio.share_90.pool_20.\1"),
    (r"bank\.connections\.(\w+)\.serve\.(\w+)", r"bank.serve.mean.share_90.\1.\2"),
    (
        r"bank\.rematch\.repaired\.(\w+)\.(?:ratio|verdict)\.(\w+)",
        r"bank.\1.ratio.pool_95.repaired.share_50.\2",
    ),
    (r"bank\.rematch\.(\w+)\.(?:ratio|verdict)\.(\w+)", r"bank.\1.ratio.pool_20.matched.share_50.\2"),
    (r"bank\.original\.(follows|knee)\.(\w+)", r"bank.\1.fit.\2"),
    (r"bank\.original\.capacity\.(?:ratio|verdict)\.(\w+)", r"bank.capacity.ratio.\1"),
    (r"validity\.coverage\.(low|high|control)", r"validity.coverage.share.\1"),
    (r"validity\.aa\.(\w+)\.(\w+)", r"validity.\1.share.\2"),
    (r"validity\.known\.(\w+)\.(?:ratio|verdict)\.effect", r"validity.\1.ratio.alone.go_handicapped"),
    (r"validity\.duet\.(\w+)\.(?:ratio|verdict)\.effect", r"validity.\1.ratio.duet.go_handicapped"),
    (r"claims\.count\.(\w+)", r"claims.\1.count"),
    (r"claims\.here\.(\w+)", r"claims.here.ratio.\1"),
    (r"strings_warm\.(throughput|cpu|memory|first)\.(?:ratio|verdict)\.(.+)", r"strings_warm.\1.ratio.\2"),
    (r"strings_warm\.throughput\.aa", r"strings_warm.throughput.ratio.go_nethttp"),
    (r"strings_warm\.at_rate\.(\w+)\.(?:ratio|verdict)\.(.+)", r"strings_warm.rate_\1.ratio.\2"),
    (r"strings_warm\.at_rate\.(\w+)\.mean\.(.+)", r"strings_warm.rate_\1.mean.\2"),
    (r"strings_warm\.cold\.seconds\.(.+)", r"strings_warm.cold.mean.\1"),
    (r"strings_warm\.cold\.requests\.(.+)", r"strings_warm.cold_requests.mean.\1"),
    (r"strings_warm\.cold\.extra\.(.+)", r"strings_warm.cold_cpu.mean.\1"),
    (r"strings_warm\.detectable\.(\w+)\.blocks_(\d+)\.(.+)", r"strings_warm.\1.detectable.\2.\3"),
    (r"strings_warm\.blocks", r"strings_warm.blocks.count"),
    (r"strings_warm\.duet\.cost\.(.+)", r"strings_warm_duet.cpu.mean.\1"),
    (r"strings_warm\.duet\.(throughput|cpu)\.(?:ratio|verdict)\.(.+)", r"strings_warm_duet.\1.ratio.\2"),
    (r"strings_warm\.duet\.equal\.(\w+)\.ratio", r"strings_warm_duet.\1.ratio.go_nethttp"),
    (r"strings_warm\.duet\.equal\.(\w+)\.finds", r"strings_warm_duet.\1.detectable.10.go_nethttp"),
    (r"strings_warm\.generator\.cost\.(.+)", r"generator_cpus.cpu.mean.\1"),
    (r"strings_warm\.generator\.kernel\.(.+)", r"generator_cpus.kernel.mean.\1"),
    (r"strings_warm\.generator\.ratio\.(\w+)\.(?:ratio|verdict)\.(.+)", r"generator_cpus.cpu.ratio.\1.\2"),
    (r"strings_warm\.generator\.moved\.(\w+)\.(?:ratio|verdict)\.(.+)", r"generator_cpus.moved.ratio.\1.\2"),
    (r"strings_warm\.settings\.kernel\.(.+)", r"strings_settings.kernel.mean.\1"),
    (
        r"strings_warm\.settings\.over\.(?:ratio|verdict)\.(.+)",
        r"strings_settings.over.ratio.\1.java_helidon",
    ),
    (r"strings_warm\.settings\.(\w+)\.(?:ratio|verdict)\.(.+)", r"strings_settings.\1.ratio.\2"),
    (r"strings_warm\.settings\.(\w+)\.mean\.(.+)", r"strings_settings.\1.mean.\2"),
    (r"logging\.(cpu|throughput)\.cost\.(\w+)\.(?:ratio|verdict)\.(.+)", r"logging.\1.ratio.\2.\3"),
    (r"loops\.(p99|mean)\.(?:ratio|verdict)\.(.+)", r"gc.loop_\1.ratio.open.\2"),
    (r"gc\.equal\.(memory|p99)\.(?:ratio|verdict)\.(.+)", r"gc.equal_\1.ratio.\2"),
    (r"gc\.(\w+)\.(\w+)", r"gc.\1.mean.\2"),
    (r"forms\.clients\.effect\.first\.(?:ratio|verdict)\.(.+)", r"forms.first_over_jvm.ratio.clients.\1"),
    (r"forms\.clients\.reference\.first\.(?:ratio|verdict)\.(.+)", r"forms.first.ratio.clients.\1"),
    (r"forms\.effect\.first\.(?:ratio|verdict)\.(.+)", r"forms.first_over_jvm.ratio.strings.\1"),
    (r"forms\.reference\.first\.(?:ratio|verdict)\.(.+)", r"forms.first.ratio.strings.\1"),
    (
        r"forms_load\.clients\.own\.(\w+)\.(?:ratio|verdict)\.(.+)",
        r"forms.\1_over_jvm.ratio.clients.\2",
    ),
)


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


def differences(
    golden: Mapping[str, Golden],
    built: Mapping[str, Golden],
    moved: Iterable[tuple[str, str]] = MOVED,
) -> list[str]:
    """Return one line for each value that differs, is missing, or is not among the golden ones."""
    moves = tuple(moved)
    lines, accounted = [], set()
    for key, expected in golden.items():
        now = key if key in built else _moved(key, moves)
        if now not in built:
            lines.append(f"{key}: missing, was {_text(expected)}")
            continue
        accounted.add(now)
        equal = _equal_part if any(re.fullmatch(old, key) for old, _ in moves) else _equal
        if not equal(expected, built[now]):
            name = key if key == now else f"{key}, now {now}"
            lines.append(f"{name}: was {_text(expected)}, is {_text(built[now])}")
    targets = [target for _, target in moves]
    lines += [
        f"{key}: new, {_text(entry)}"
        for key, entry in built.items()
        if key not in accounted and not any(_question(target) == _question(key) for target in targets)
    ]
    return lines


def moved_keys(golden: Iterable[str], moved: Iterable[tuple[str, str]] = MOVED) -> set[str]:
    """Return the keys of golden values, those of today too."""
    moves = tuple(moved)
    keys = set(golden)
    return keys | {_moved(key, moves) for key in keys}


def _moved(key: str, moved: Sequence[tuple[str, str]]) -> str:
    return next((re.sub(old, new, key) for old, new in moved if re.fullmatch(old, key)), key)


def _question(key: str) -> str:
    return key.partition(".")[0]


def _equal(a: Golden, b: Golden) -> bool:
    return a.unit == b.unit and a.verdict == b.verdict and all(map(_close, a[:3], b[:3]))


def _equal_part(old: Golden, row: Golden) -> bool:
    """Compare a number or a verdict, which had a key each, with the row that has both."""
    same_number = _equal(old._replace(verdict=""), row._replace(verdict=""))
    same_verdict = old.verdict == row.verdict
    return (same_number or (old.value is None and bool(old.verdict))) and (same_verdict or not old.verdict)


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
    values = published_values(ROOT)
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

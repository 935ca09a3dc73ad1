# SPDX-License-Identifier: Apache-2.0
"""One file of rows from several JMeter engines, taken apart: every row goes as it is into its engine's file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from harness.errors import TrialFailure

#: The column that tells: an engine begins the names of its threads with its address and port.
THREAD_NAME = "threadName"


def split_by_engine(source: Path, targets: Mapping[str, Path]) -> Counter[str]:
    """Move the rows of ``source``, whose thread names begin with a key of ``targets``, into that file.

    Every target has the header line. A half-written last row goes to the first one, whose reader counts it.
    ``source`` is removed; a failure leaves it, and no target.

    Returns:
        How many rows each engine has.

    Raises:
        OSError: ``source`` is not there.
        TrialFailure: it has no rows that could be told apart, or some are of nobody that is known.
    """
    counts: Counter[str] = Counter(dict.fromkeys(targets, 0))
    unknown = 0
    with ExitStack() as files:
        lines = files.enter_context(source.open(encoding="utf-8", errors="surrogateescape", newline=""))
        header = next(lines, "")
        names = next(csv.reader([header]), [])
        if THREAD_NAME not in names:
            raise TrialFailure(
                "failed", f"{source.name} of all engines has no column {THREAD_NAME}: {header.strip()[:80]!r}"
            )
        at = names.index(THREAD_NAME)
        out = {
            key: files.enter_context(path.open("w", encoding="utf-8", errors="surrogateescape", newline=""))
            for key, path in targets.items()
        }
        for stream in out.values():
            stream.write(header)
        for record in _records(lines):
            engine = _engine_of(record, at, targets)
            if engine is None and not record.endswith("\n"):
                engine = next(iter(targets))  # cut off by an end that came too soon: there it is counted
            if engine is None:
                unknown += 1
            else:
                out[engine].write(record)
                counts[engine] += 1
    if unknown:
        for path in targets.values():
            path.unlink()
        raise TrialFailure("failed", f"{unknown} rows of {source.name} are of no engine that is known")
    source.unlink()
    return counts


def _records(lines: Iterable[str]) -> Iterator[str]:
    """Lines, those together that one quoted field spans."""
    begun = ""
    for line in lines:
        begun += line
        if begun.count('"') % 2 == 0:
            yield begun
            begun = ""
    if begun:
        yield begun


def _engine_of(record: str, at: int, targets: Iterable[str]) -> str | None:
    fields = next(csv.reader([record]), [])
    thread = fields[at] if at < len(fields) else ""
    return next((key for key in targets if thread.startswith(key)), None)


__all__ = ["THREAD_NAME", "split_by_engine"]

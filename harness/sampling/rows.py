# SPDX-License-Identifier: Apache-2.0
"""Rows of samplers: a far one's put onto this machine's clock, two samplers' put into one file."""

from __future__ import annotations

from pathlib import Path


def on_our_clock(file: Path, offset_s: float) -> None:
    """Take the offset (far minus ours) off the first column, which is ``monotonic_s``; no file, no rows."""
    if not file.is_file():
        return
    head, *rows = file.read_text("utf-8").splitlines()
    shifted = [_shifted(row, offset_s) for row in rows]
    file.write_text("\n".join([head, *shifted, ""]), "utf-8")


def merge(file: Path, other: Path) -> None:
    """Put the other file's rows into the first, in the order of time, and remove the other."""
    if not other.is_file():
        return
    lines = file.read_text("utf-8").splitlines()
    more = other.read_text("utf-8").splitlines()[1:]
    rows = sorted([*lines[1:], *more], key=lambda row: float(row.partition(",")[0]))
    file.write_text("\n".join([lines[0], *rows, ""]), "utf-8")
    other.unlink()


def _shifted(row: str, offset_s: float) -> str:
    at, comma, rest = row.partition(",")
    return f"{float(at) - offset_s:.6f}{comma}{rest}"

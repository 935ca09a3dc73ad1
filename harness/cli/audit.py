# SPDX-License-Identifier: Apache-2.0
"""``rematch audit``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import say
from harness.model.formatting import counted
from harness.project import find_root
from harness.report.audit.auditing import audit_paths, audit_published
from harness.report.audit.laws import Audited, Check, Plan, n_contradictions


def audit_command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER|FILE]...",
            help="result files of load tools, published tables as CSV, or folders of them; default: --published",
            show_default=False,
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="audit the articles' tables in data/published")
    ] = False,
    users: Annotated[
        int | None, typer.Option(help="users of the load, where the files do not say", min=1)
    ] = None,
    loops: Annotated[int | None, typer.Option(help="requests that each user sends", min=1)] = None,
    ramp: Annotated[float | None, typer.Option(help="seconds in which the users begin", min=0.0)] = None,
    rate: Annotated[
        float | None, typer.Option(help="requests per second that an open loop offers", min=0.001)
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="end with status 1 where a contradiction is found")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="also list the checks that hold")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Find numbers of a load test that cannot all be true: rates, users, response times, sums, clocks.

    A contradiction is what no rounding explains. A remark is possible, but needs a reason that the file does not
    give.

    Exit status 1: a contradiction, with --strict. Exit status 2: a file cannot be read.

    \b
    Examples:
        rematch audit results.jtl
        rematch audit results/ --strict
        rematch audit table.csv --users 100 --loops 10000 --ramp 10
        rematch audit --published --json
    """
    plan = Plan(users=users, loops=loops, ramp_up_s=ramp, rate_per_s=rate)
    result, left_out = audit_paths(paths or (), plan)
    if published or not paths:
        more, out = audit_published(find_root(), plan if paths else Plan())
        result, left_out = (*result, *more), (*left_out, *out)
    if as_json:
        plain = {
            "contradictions": n_contradictions(result),
            "files": [file.as_json() for file in result],
            "left_out": list(left_out),
        }
        print(json.dumps(plain, indent=1, allow_nan=False))
    else:
        _print(result, left_out, every=every)
    if strict and n_contradictions(result):
        raise typer.Exit(1)


def _print(audited: tuple[Audited, ...], left_out: tuple[str, ...], *, every: bool) -> None:
    n, checks = n_contradictions(audited), sum(len(file.checks) for file in audited)
    sentence = counted(n, "contradiction") if n else "no contradiction"
    say(f"{sentence} in {counted(len(audited), 'file')}, {counted(checks, 'check')}")
    for file in audited:
        counts = Counter(check.outcome for check in file.checks)
        parts = [f"{counts['holds']:,} hold"]
        parts += [counted(counts["contradiction"], "contradiction")] if counts["contradiction"] else []
        parts += [counted(counts["remarkable"], "remark")] if counts["remarkable"] else []
        parts += [f"{counts['not checked']:,} cannot be checked"] if counts["not checked"] else []
        print()
        say(f"{file.path}: {file.kind}, {counted(file.rows, 'row')}: {', '.join(parts)}", hang="  ")
        lines = [f"contradiction: {_words(check)}" for check in file.of("contradiction")]
        lines += [f"remark: {_words(check)}" for check in file.of("remarkable")]
        for (law, text), times in Counter((c.law, c.text) for c in file.of("not checked")).items():
            lines.append(f"not checked: {law}: {text}" + (f" ({counted(times, 'row')})" if times > 1 else ""))
        lines += [f"holds: {_words(check)}" for check in file.of("holds") if every]
        for line in (*lines, *(f"note: {note}" for note in file.notes)):
            say(line, indent="  ", hang="    ")
    if left_out:
        print()
    for line in left_out:
        say(line, hang="  ")


def _words(check: Check) -> str:
    place = f"line {check.line}" if check.line is not None else None
    where = ", ".join(filter(None, (place, check.row)))
    return f"{where}: {check.law}: {check.text}" if where else f"{check.law}: {check.text}"

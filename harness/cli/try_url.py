# SPDX-License-Identifier: Apache-2.0
"""``rematch try``: a service under a minute of load, and what it did in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.check_here import busy_warning
from harness.cli.options import AsJson, say, table, wrapped
from harness.model.digits import percent, plain
from harness.places.probe.target import header_named, target_of
from harness.places.probe.trying import MinuteOfLoad, cannot_tell, try_target
from harness.project import find_root


def try_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="http address of a service that runs")],
    method: Annotated[str, typer.Option(help="method of the request")] = "GET",
    header: Annotated[
        list[str] | None, typer.Option(help="header of the request, 'Name: value'; may be repeated")
    ] = None,
    body: Annotated[str | None, typer.Option(help="body of the request")] = None,
    seconds: Annotated[int, typer.Option(help="how long all of it should take", min=20, max=3600)] = 60,
    permitted: Annotated[
        bool,
        typer.Option(
            "--i-have-permission",
            help="load another host than this machine; only with its owner's permission",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Load a running service for a minute: how much it answers, and where waiting begins.

    Asks a few times first, and offers no load to a service that refuses or changes its answers. Then users who wait
    (closed loop), then rates (open loop). The leanest load tool that is installed is used; else threads of this
    program.

    Exit status 1: the service is not fit to be loaded, or does not answer any more afterwards. Exit status 2: no
    answer, or the host may not be loaded.

    \b
    Examples:
        rematch try http://127.0.0.1:8080/hello
        rematch try http://localhost:3000/orders --method POST --header "Content-Type: application/json" --body "{}"
        rematch try http://127.0.0.1:8080/hello --seconds 120 --json
    """
    headers = dict(map(header_named, header or ()))
    target = target_of(url, method=method, headers=headers, body=body, permitted=permitted)
    if not as_json:
        print(f"About {seconds} s of load cannot tell:")
        for limit in cannot_tell(target):
            say(limit, indent="- ", hang="  ")
        print(flush=True)
        if target.is_here and (warning := busy_warning("expect less than the service can")) is not None:
            print(wrapped(warning, hang="  "), end="\n\n", flush=True)
    live = not as_json and sys.stderr.isatty()

    def tell(text: str) -> None:
        if live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    root = find_root(otherwise=Path.cwd())  # it only tells where else than on PATH load tools may be
    result = try_target(target, root, seconds=seconds, progress=tell)
    tell("")
    if as_json:
        print(json.dumps(result.model_dump(mode="json"), indent=1, allow_nan=False))
    else:
        _print(result)
    if result.fitness.faults or not result.answers_after:
        raise typer.Exit(1)


def _print(tried: MinuteOfLoad) -> None:
    say(_summary(tried))
    fit = tried.fitness
    alike = "the same body" if fit.same_body else "bodies that differ"
    alive = "keeps its connection" if fit.keeps_alive else f"needs {fit.n_connections} connections"
    later = "" if fit.later_s is None else f", later ones {plain(fit.later_s * 1e3)} ms (median)"
    say(
        f"{'not fit' if fit.faults else 'fit'}: {fit.n_asked} requests one after another: status {fit.status}, {alike} "
        f"of {fit.body_bytes:,} bytes, {alive}; the first took {plain(fit.first_s * 1e3)} ms{later}",
        hang="  ",
    )
    for name, points, first in (
        ("closed loop, users who wait", tried.closed, "users"),
        ("open loop, latency from when a request was due", tried.open_loop, "offered/s"),
    ):
        if points:
            print(f"\n{name}; load by {points[0].tool}")
            rows = []
            for point in points:
                load = plain(point.offered_per_s or 0.0) if point.users is None else str(point.users)
                times = ["-" if item is None else plain(item * 1e3) for item in (point.p50_s, point.p99_s)]
                bound = "generator near its limit" if point.generator_bound else ""
                rows.append((load, plain(point.answered_per_s), *times, percent(point.error_share), bound))
            print(table((first, "answers/s", "p50 ms", "p99 ms", "errors", ""), rows, right=(0, 1, 2, 3, 4)))
    if tried.warnings:
        print()
    for warning in tried.warnings:
        say(f"warning: {warning}", hang="  ")


def _summary(tried: MinuteOfLoad) -> str:
    if tried.fitness.faults:
        return f"No load was offered: {'; '.join(tried.fitness.faults)}."
    gone = "" if tried.answers_after else "It does not answer any more after these loads. "
    parts = [f"At most {plain(tried.most_per_s or 0.0)} right answers/s from users who wait"]
    if tried.kept_up_to_per_s is not None:
        parts.append(f"a rate of {plain(tried.kept_up_to_per_s)}/s was kept without long waits")
    elif tried.kept_why is None:
        parts.append("no rate was kept without long waits")
    if tried.kept_why is not None:
        parts.append(tried.kept_why)
    return gone + "; ".join(parts) + "."

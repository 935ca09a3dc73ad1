# SPDX-License-Identifier: Apache-2.0
"""A service under a minute of load: loaded, and what it answered in words."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.cli.check_here import busy_warning
from harness.cli.lines import say, table, wrapped
from harness.model.digits import percent, plain
from harness.probe.target import Target, header_named, target_of
from harness.probe.trying import Point, Tried, cannot_tell, try_target
from harness.project import find_root


def target_named(
    url: str, *, method: str, headers: Sequence[str], body: str | None, permitted: bool
) -> Target:
    """Return what is asked, from the words of the command.

    Raises:
        InputError: a word cannot be used, or the host may not be loaded.
    """
    named = dict(map(header_named, headers))
    return target_of(url, method=method, headers=named, body=body, permitted=permitted)


def run(target: Target, seconds: int, *, as_json: bool) -> bool:
    """Load a service and print what it did; return whether it is fit to be loaded and answers afterwards."""
    if not as_json:
        _print_limits(cannot_tell(target), seconds)
        if target.is_here and (warning := busy_warning("expect less than the service can")) is not None:
            print(wrapped(warning, hang="  "), end="\n\n", flush=True)
    live = not as_json and sys.stderr.isatty()

    def tell(text: str) -> None:
        if live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    root = find_root(otherwise=Path.cwd())  # it only tells where else than on PATH load tools may be
    result = try_target(target, root, seconds=seconds, progress=tell)
    if live:
        print("\r\033[K", end="", file=sys.stderr)
    if as_json:
        print(json.dumps(result.model_dump(mode="json"), indent=1, allow_nan=False))
    else:
        _print(result)
    return not result.fitness.faults and result.answers_after


def _print_limits(limits: tuple[str, ...], seconds: int) -> None:
    print(f"About {seconds} s of load cannot tell:")
    for limit in limits:
        say(limit, indent="- ", hang="  ")
    print(flush=True)


def _print(tried: Tried) -> None:
    say(_summary(tried))
    fit = tried.fitness
    alike = "the same body" if fit.same_body else "bodies that differ"
    alive = "keeps its connection" if fit.keeps_alive else f"needs {fit.n_connections} connections"
    later = "" if fit.later_s is None else f", later ones {plain(fit.later_s * 1e3)} ms (median)"
    text = (
        f"fit: {fit.n_asked} requests one after another: status {fit.status}, {alike} of {fit.body_bytes:,} bytes, "
        f"{alive}; the first took {plain(fit.first_s * 1e3)} ms{later}"
    )
    say(text if not fit.faults else text.replace("fit:", "not fit:", 1), hang="  ")
    for name, points, first in (
        ("closed loop, users who wait", tried.closed, "users"),
        ("open loop, latency from when a request was due", tried.open_loop, "offered/s"),
    ):
        if points:
            print(f"\n{name}; load by {points[0].tool}")
            rows = [_row(point) for point in points]
            print(table((first, "answers/s", "p50 ms", "p99 ms", "errors", ""), rows, right=(0, 1, 2, 3, 4)))
    if tried.warnings:
        print()
    for warning in tried.warnings:
        say(f"warning: {warning}", hang="  ")


def _summary(tried: Tried) -> str:
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


def _row(point: Point) -> tuple[str, ...]:
    first = f"{point.users}" if point.users is not None else plain(point.offered_per_s or 0.0)
    times = ["-" if item is None else plain(item * 1e3) for item in (point.p50_s, point.p99_s)]
    bound = "generator near its limit" if point.generator_bound else ""
    return (first, plain(point.answered_per_s), *times, percent(point.error_share), bound)

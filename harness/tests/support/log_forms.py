# SPDX-License-Identifier: Apache-2.0
"""Logs of runtimes in the forms in which people have them, from Docker to loggers, and read as if they were files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log

#: When the made-up process began, in epoch seconds.
START_S = 1764325800.0
#: Pauses of the made-up process: when they end, in seconds since its start, and how long they are.
PAUSES = tuple((2.0 + 4 * k + length, length) for k, length in enumerate([0.08, 0.09, 0.1] * 4))
Line = tuple[float, str]


def stamp(at_s: float, form: str = "%Y-%m-%dT%H:%M:%S", *, decimals: int = 3, zone_h: float = 0.0) -> str:
    """Return a time as ISO 8601 without its zone, or in the form that is given."""
    moment = datetime.fromtimestamp(at_s, timezone(timedelta(hours=zone_h)) if zone_h else UTC)
    return f"{moment:{form}}" + (f".{int(at_s % 1 * 10**decimals):0{decimals}d}" if decimals else "")


def uptime(at_s: float) -> str:
    return f"[{at_s:.3f}s]"


def wall_and_uptime(at_s: float) -> str:
    return f"[{stamp(START_S + at_s)}+0000][{at_s:.3f}s]"


def jvm_lines(
    pauses: Sequence[tuple[float, float]] = PAUSES,
    decorators: Callable[[float], str] = wall_and_uptime,
    *,
    first_id: int = 0,
    safepoints: bool = True,
) -> list[Line]:
    """Return a unified log, line by line, each with the time at which it is written, in seconds since the start."""
    lines = [] if first_id else [(0.01, f"{decorators(0.01)}[info][gc] Using G1")]
    for k, (end_s, length_s) in enumerate(pauses, start=first_id):
        work = f"GC({k}) Pause Young (Normal) (G1 Evacuation Pause)"
        begin_s = end_s - length_s
        lines += [
            (begin_s, f"{decorators(begin_s)}[info][gc,start] {work}"),
            (end_s, f"{decorators(end_s)}[info][gc] {work} 60M->12M(128M) {length_s * 1e3:.3f}ms"),
        ]
        if safepoints:
            stop = (
                f'Safepoint "G1CollectForAllocation", Time since last: 900000000 ns, Reaching safepoint: 50000 ns, '
                f"At safepoint: {length_s * 1e9:.0f} ns, Total: {length_s * 1e9 + 50_000:.0f} ns"
            )
            lines.append((end_s, f"{decorators(end_s)}[info][safepoint] {stop}"))
    return lines


def go_lines(pauses: Sequence[tuple[float, float]] = PAUSES, *, first_id: int = 1) -> list[Line]:
    """Return what Go writes under ``gctrace=1``; the first stop of each collection is as long as the pause."""
    return [
        (
            end_s,
            f"gc {k} @{end_s - length_s:.3f}s 1%: {length_s * 1e3:g}+3.1+0.010 ms clock, 0.1+0.2/3.0/5.1+0.02 ms cpu, "
            "40->41->20 MB, 41 MB goal, 0 MB stacks, 0 MB globals, 2 P",
        )
        for k, (end_s, length_s) in enumerate(pauses, start=first_id)
    ]


def text_of(lines: Sequence[Line]) -> str:
    """Return the lines as the runtime writes them."""
    return "".join(f"{line}\n" for _, line in lines)


def _as_go_writes_it(value: object) -> str:
    """JSON as Docker's log driver and loggers of Go write it: three signs are escaped."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _wall(at_s: float, form: str = "%Y-%m-%dT%H:%M:%S", decimals: int = 9) -> str:
    return stamp(START_S + at_s + 0.000_5, form, decimals=decimals)


#: name of a form -> what becomes of one line, written so many seconds after the start of the process
CARRIERS: dict[str, Callable[[float, str], str]] = {
    "docker compose": lambda at, line: f"shop-1  | {line}",
    "docker compose, with times": lambda at, line: f"shop-1  | {_wall(at)}Z {line}",
    "docker compose, in colours": lambda at, line: f"\x1b[36mshop-1  | \x1b[0m{line}\x1b[0m",
    "docker swarm": lambda at, line: f"shop.1.k2v0x9@node-3    | {line}",
    "kubectl with times": lambda at, line: f"{_wall(at)}Z {line}",
    "kubectl with names": lambda at, line: f"[pod/shop-6b7d9c5f4-x2x9z/shop] {line}",
    "kubectl with names and times": lambda at, line: f"[pod/shop-6b7d9c5f4-x2x9z/shop] {_wall(at)}Z {line}",
    "stern": lambda at, line: f"shop-6b7d9c5f4-x2x9z shop {line}",
    "a node's file": lambda at, line: f"{_wall(at)}Z stdout F {line}",
    "journald": lambda at, line: f"{_wall(at, '%b %d %H:%M:%S', 0)} node-3 java[4711]: {line}",
    "journald, iso": lambda at, line: f"{_wall(at, decimals=0)}+0000 node-3 java[4711]: {line}",
    "journald, precise": lambda at, line: f"{_wall(at, '%b %d %H:%M:%S', 6)} node-3 java[4711]: {line}",
    "heroku": lambda at, line: f"{_wall(at, decimals=6)}+00:00 app[web.1]: {line}",
    "syslog": lambda at, line: f"<134>1 {_wall(at, decimals=3)}Z node-3 shop 4711 - - {line}",
    "a service of Windows": lambda at, line: f"INFO   | jvm 1    | {_wall(at, '%Y/%m/%d %H:%M:%S', 0)} | {line}",
    "grep -n": lambda at, line: f"{at * 1e3:.0f}:{line}",
    "cat -n": lambda at, line: f"{at * 1e3:6.0f}\t{line}",
    "seconds in front": lambda at, line: f"{START_S + at:.6f} {line}",
    "a date of JVM form in front": lambda at, line: f"[{_wall(at, decimals=3)}+0000] {line}",
    "docker json-file": lambda at, line: _as_go_writes_it(
        {"log": f"{line}\n", "stream": "stdout", "time": f"{_wall(at)}Z"}
    ),
    "a logger's JSON": lambda at, line: json.dumps({"level": "info", "msg": line}),
    "a logger's JSON, the text first": lambda at, line: json.dumps({"msg": line, "ts": START_S + at}),
    "nested JSON": lambda at, line: json.dumps({"kubernetes": {"pod": "x"}, "body": {"stringValue": line}}),
    "journald's JSON": lambda at, line: json.dumps(
        {"_PID": "4711", "MESSAGE": line, "__REALTIME_TIMESTAMP": f"{(START_S + at) * 1e6:.0f}"}
    ),
    "JSON in JSON": lambda at, line: _as_go_writes_it(
        {"log": json.dumps({"level": "info", "msg": line}) + "\n", "stream": "stderr"}
    ),
    "JSON behind a tag": lambda at, line: f"{_wall(at, decimals=0)}+00:00\tdocker.9c1f\t{json.dumps({'log': line})}",
    "compose and JSON": lambda at, line: f"shop-1  | {json.dumps({'severity': 'INFO', 'message': line})}",
    "an exported array": lambda at, line: f"  {{\n    \"textPayload\": {json.dumps(line)},\n    \"n\": 1\n  }},",
    "key and value": lambda at, line: f"time={_wall(at)}Z level=info msg={json.dumps(line)}",
}  # fmt: skip


def carried(lines: Sequence[Line], carrier: str) -> str:
    """Return a log as it comes out of one of the ``CARRIERS``."""
    return "".join(f"{CARRIERS[carrier](at_s, line)}\n" for at_s, line in lines)


def read_log(*parts: str, process_start_epoch_s: float | None = None) -> GcLog:
    """Read what stands in these parts of one log, the first of them the newest, as rotation names them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / ("gc.log" if not k else f"gc.log.{k - 1}") for k in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            path.write_text(part, "utf-8", newline="")
        return read_runtime_log(paths[0], process_start_epoch_s=process_start_epoch_s)


def read_trace(text: str) -> GcLog:
    """Read what a Go process wrote to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "service.stderr.txt"
        path.write_text(text, "utf-8", newline="")
        return read_runtime_log(path, of_go=True)

# SPDX-License-Identifier: Apache-2.0
"""JMeter: closed loop by a Thread Group, open loop by the Open Model Thread Group.

Each user of a closed loop keeps one connection; in the open model every arrival is a new user with a new one. A flow is
its steps in order; a wrong answer ends a pass. Captures are taken by JMESPath: each has one or two variables,
``name.text``, and ``name.json`` where it stands for a JSON value; one more says whether an answer is the JSON value
that is expected.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MissingTool
from harness.formats.jtl import read_jtl
from harness.formats.table import RequestTable
from harness.loadgen.base import Installed, LoadSpec, plain_only
from harness.loadgen.correlation import CARRIED, CapturedPlace, Pieces, pieces, renderings, steps_of
from harness.loadgen.flow import closed_s, in_order, is_flow, one_round, unsupported_mix
from harness.loadgen.summary import RowTool
from harness.loadgen.template import template
from harness.model import ClosedLoad, Expectation, LoadProfile, OpenLoad, Request

SAMPLES = "samples.jtl"
PLAN, PROPERTIES, LOG, GC_LOG = "plan.jmx", "jmeter.properties", "jmeter.log", "generator-gc.log"

SAVED = (
    "time", "label", "response_code", "successful", "assertion_results_failure_message", "connect_time",
)  # fmt: skip
UNSAVED = (
    "response_message", "thread_name", "data_type", "bytes", "sent_bytes", "thread_counts", "url", "filename",
    "latency", "encoding", "sample_count", "hostname", "idle_time", "subresults", "assertions",
    "samplerData", "responseHeaders", "requestHeaders", "response_data",
)  # fmt: skip

#: Before the first arrival: the schedule's clock starts before JMeter is ready to follow it.
SETTLE_S = 1
#: An answer that takes longer is an error.
TIMEOUT_S = 60.0
#: What a variable holds when the answer has no such value; nothing that can be carried on looks like it.
ABSENT = "(absent)"
#: Holds ``true`` where an answer is one of the values expected; no capture's variable ends so.
IS_RIGHT = "body.right"


def render_plan(spec: LoadSpec, last_answers_s: int = 3) -> str:
    """Return the test plan as JMX."""
    profile, schedule = spec.profile, None
    if isinstance(profile, OpenLoad):
        arrivals = "even_arrivals" if profile.arrivals == "constant" else "random_arrivals"
        rate = f"{profile.rate_per_s:.6f}".rstrip("0").rstrip(".")
        lasts = f"rate({rate}/sec) {arrivals}({round(profile.duration_s * 1000)} ms)"
        schedule = f"pause({SETTLE_S} sec) {lasts} pause({last_answers_s} sec)"
    return template("plan.jmx.jinja", xml=True).render(
        closed=isinstance(profile, ClosedLoad),
        profile=profile,
        schedule=schedule,
        seed=spec.seed,
        mix=spec.requests[0].mix,
        asked=asked(spec.requests),
        flow=is_flow(spec.requests),
        endpoint=spec.endpoint,
        timeout_ms=int(TIMEOUT_S * 1000),
    )


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """One variable: its name, the JMESPath to its value, and the rule by which a bare text is checked."""

    variable: str
    path: str
    absent: str = ABSENT
    rule: str | None = None
    fault: str = ""


def asked(requests: Sequence[Request]) -> list[dict[str, object]]:
    """Return the requests as the plan has them: one round of a plain mix, to choose from, or the steps of a flow."""
    places = is_flow(requests)
    chosen = in_order(requests) if places else tuple(requests[at] for at in one_round(tuple(requests)))
    values = {request.name: _values(request.expect, places=places) for request in requests}
    typed = {
        piece.name
        for right in values.values()
        for value in right
        for piece in value
        if isinstance(piece, CapturedPlace) and piece.as_json
    }
    return [_asked(request, values[request.name], typed, places=places) for request in chosen]


def _asked(request: Request, values: Sequence[Pieces], typed: set[str], *, places: bool) -> dict[str, object]:
    def written(text: str) -> str:
        return with_variables(pieces(text) if places else (text,))

    right, body = request.expect.body, request.body
    taken = (
        extractor
        for name, pointer in request.capture.items()
        for extractor in _extractors(name, jmespath(pointer), name in typed)
    )
    return {
        "name": request.name,
        "method": request.method,
        "path": written(request.path),
        "headers": [(name, written(text)) for name, text in request.headers.items()],
        "body": None if body is None else written(body),
        "status": request.expect.status,
        "right": None if right is None else written(right),  # None: any, or by extractors
        "extractors": (*taken, *_comparison(values)),
    }


def _values(expect: Expectation, *, places: bool) -> tuple[Pieces, ...]:
    """Return the JSON values that are right, each as one text cut at its places; empty: none is expected."""
    if not expect.is_json:
        return ()
    values = (expect.json_value,) if expect.one_of is None else expect.one_of
    return tuple(renderings(value, places=places)[0] for value in values)


def _comparison(values: Sequence[Pieces]) -> tuple[Extractor, ...]:
    """Return what tells whether an answer is one of these values, after the captures that may stand in them."""
    if not values:
        return ()
    wanted: list[str | CapturedPlace] = []
    for value in values:
        wanted.append(" || @ == `" if wanted else "@ == `")
        # A backtick ends a literal of JMESPath; in a text of JSON it may be written by its number.
        wanted += [piece.replace("`", "\\u0060") if isinstance(piece, str) else piece for piece in value]
        wanted.append("`")
    path = with_variables(tuple(wanted))
    return (Extractor(variable=IS_RIGHT, path=path, rule="true", fault="wrong body"),)


def _extractors(name: str, path: str, typed: bool) -> tuple[Extractor, ...]:
    bare = Extractor(variable=f"{name}.text", path=path, rule=CARRIED, fault=f"no {name}")
    if not typed:
        return (bare,)
    quoted = f"type({path}) == 'string' && join('', ['\"', {path}, '\"']) || {path}"
    return (bare, Extractor(variable=f"{name}.json", path=quoted))


def jmespath(pointer: str) -> str:
    """Return a JSON pointer as JMESPath."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{json.dumps(part)}" for part in steps_of(pointer))
    return "".join(parts).removeprefix(".") or "@"


def literal(text: str) -> str:
    """Keep JMeter from reading ``${...}`` in a value as one of its variables or functions.

    Its own escape, a backslash, works only in values that hold a real function: so one is used.
    """
    if "${" not in text:
        return text
    escaped = re.sub(r"\\(?=[$,\\])", r"\\\\", text)
    return escaped.replace("${", "${__char(36)}{")


def with_variables(cut: Pieces) -> str:
    """Return a text whose captured values are JMeter's variables; all else reaches the service as it stands."""
    if not any(isinstance(piece, CapturedPlace) for piece in cut):
        return literal("".join(piece for piece in cut if isinstance(piece, str)))
    return "".join(
        f"${{{piece.name}.{'json' if piece.as_json else 'text'}}}"
        if isinstance(piece, CapturedPlace)
        else _guarded(piece)
        for piece in cut
    )


def _guarded(text: str) -> str:
    """Return text beside a variable: there a backslash escapes, and a dollar sign may swallow what follows it."""
    escaped = re.sub(r"\\(?=[$,\\]|\Z)", r"\\\\", text)
    return escaped.replace("$", "${__char(36)}")


#: For planning only: what one JMeter asks of a quick service on a small machine, and after so many requests, when both
#: have compiled their code.
ASSUMED_PER_S, WARM_PER_S = 4000.0, 20_000.0
COLD_REQUESTS = 40_000
_CSV_FIELD = re.compile(r"[\w.]+$")


@dataclass(frozen=True, kw_only=True)
class JMeter(RowTool):
    """JMeter in the folder ``home``, run by the program ``java``; None: not on this machine. ``last_answers_s``: how
    long an open loop stays after its last arrival; what is answered later is interrupted and counts as dropped."""

    home: Path | None
    java: Path | None
    heap: str = "1g"
    last_answers_s: int = 3
    name: str = "jmeter"
    start_and_stop_s = 5.0
    samples = SAMPLES
    logs = (LOG,)
    outputs = (SAMPLES, PLAN, PROPERTIES, LOG, GC_LOG)

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        if isinstance(profile, ClosedLoad):
            for what, value_s in (("ramp_up_s", profile.ramp_up_s), ("duration_s", profile.duration_s)):
                if value_s is not None and value_s != int(value_s):
                    return f"JMeter counts {what} in whole seconds, found {value_s}: choose a whole number"
        return plain_only("JMeter", profile) or unsupported_mix(requests)

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        if isinstance(profile, OpenLoad):
            return self.start_and_stop_s + SETTLE_S + profile.duration_s + self.last_answers_s
        waiting_s = closed_s(profile, requests, math.inf)
        cold_s = closed_s(profile, requests, ASSUMED_PER_S) - waiting_s
        warm_requests = max(0.0, cold_s * ASSUMED_PER_S - COLD_REQUESTS) if profile.loops else 0.0
        saved_s = warm_requests * (1 / ASSUMED_PER_S - 1 / WARM_PER_S)
        return self.start_and_stop_s + waiting_s + cold_s - saved_s

    def require(self) -> None:
        self._tools()

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        (java, jar), folder = self._tools(), spec.folder
        return (
            str(java),
            f"-Xms{self.heap}",
            f"-Xmx{self.heap}",
            "-XX:+UseG1GC",
            f"-Xlog:gc*,safepoint:file={folder / GC_LOG}:timemillis,uptimenanos,level,tags",
            "-Djava.awt.headless=true",
            f"-Djava.util.prefs.userRoot={folder}",  # else it writes to the user's home
            "-jar",
            str(jar),
            "-n",
            *("-t", str(folder / PLAN)),
            *("-q", str(folder / PROPERTIES)),
            *("-l", str(folder / SAMPLES)),
            *("-j", str(folder / LOG)),
            "-Lorg.apache.jmeter.threads=WARN",  # else two lines for every arrival of an open loop
            "-Lorg.apache.jmeter.extractor=FATAL",  # else a line for every answer that is no JSON
        )

    def files(self, spec: LoadSpec) -> dict[str, str]:
        properties = template("jmeter.properties.jinja").render(saved=SAVED, unsaved=UNSAVED)
        return {PLAN: render_plan(spec, self.last_answers_s), PROPERTIES: properties}

    def rows(self, path: Path) -> RequestTable:
        return read_jtl(path)

    def errors_by_kind(self, _table: RequestTable, path: Path) -> Counter[str]:
        """Return failed rows by status, by exception, as ``wrong body``, or as ``no <name>`` of a capture."""
        kinds: Counter[str] = Counter()
        with path.open(encoding="utf-8", errors="replace") as stream:
            for row in csv.DictReader(stream):
                if row.get("success") == "false":
                    code, message = row.get("responseCode") or "", row.get("failureMessage") or ""
                    if code.isdigit():
                        own = message == "wrong body" or message.startswith("no ")
                        kinds[message if own else f"status {code}"] += 1
                    else:
                        exception = _CSV_FIELD.search(code)
                        kinds[exception.group().rsplit(".", 1)[-1] if exception else code or message] += 1
        return kinds

    def _tools(self) -> tuple[Path, Path]:
        if self.java is None or not self.java.exists():
            how = "make setup (or any JDK of 17 or later)"
            raise MissingTool("java", why="to run JMeter", how_to_get=how)
        jar = None if self.home is None else self.home / "bin" / "ApacheJMeter.jar"
        if jar is None or not jar.exists():
            raise MissingTool("JMeter", why="to offer the load", how_to_get="make setup")
        return self.java, jar


def adapter(installed: Installed) -> JMeter:
    """Return the adapter of what is installed."""
    jar = installed.programs.get("jmeter")
    return JMeter(home=jar.parent.parent if jar else None, java=installed.java)

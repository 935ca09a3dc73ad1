# SPDX-License-Identifier: Apache-2.0
"""JMeter: closed loop by a Thread Group, open loop by the Open Model Thread Group.

Kept of each request (about 40 bytes): start and elapsed in whole ms, label, status, success, why it
failed, and the time to connect, which shows whether connections were kept alive. Each user of a closed
loop keeps one connection. In the open model every arrival is a new user with a new connection: that is
how JMeter does it, and it is part of what is measured there.

A flow is its steps in order, with extractors for what its answers give (see ``jmx``). After a wrong
answer the user begins its next loop: the data of the other steps is missing. In an open loop each
arrival is one pass through the flow, and a wrong answer ends it.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MissingTool
from harness.formats.jtl import read_jtl
from harness.formats.table import RequestTable
from harness.loadgen.base import Installed, LoadSpec, plain_only
from harness.loadgen.flow import closed_s, unsupported_mix
from harness.loadgen.summary import RowTool
from harness.loadgen.tools.jmeter_plan import (
    GC_LOG,
    LOG,
    PLAN,
    PROPERTIES,
    SAMPLES,
    SETTLE_S,
    render_plan,
    render_properties,
)
from harness.model import ClosedLoad, LoadProfile, OpenLoad, Request

#: JVM start to first request, and last answer to exit.
START_AND_STOP_S = 5.0
#: For planning only: what one JMeter asks of a quick service on a small machine, and what it does so long that both
#: have compiled their code.
ASSUMED_PER_S, WARM_PER_S = 4000.0, 20_000.0
COLD_REQUESTS = 40_000
_CSV_FIELD = re.compile(r"[\w.]+$")


@dataclass(frozen=True, kw_only=True)
class JMeter(RowTool):
    """``home``: JMeter's folder; ``java``: the ``java`` program that runs it. None: not on this machine.

    ``last_answers_s``: how long an open loop stays after its last arrival; JMeter waits it out in full,
    and what is answered later is dropped, and counted.
    """

    home: Path | None
    java: Path | None
    heap: str = "1g"
    last_answers_s: int = 3
    name: str = "jmeter"
    title = "JMeter"
    samples = SAMPLES
    logs = (LOG,)
    outputs = (SAMPLES, PLAN, PROPERTIES, LOG, GC_LOG)

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """Refuses parts of seconds in ramp-up and duration of a closed loop: JMeter has whole ones."""
        if isinstance(profile, ClosedLoad):
            for what, value_s in (("ramp_up_s", profile.ramp_up_s), ("duration_s", profile.duration_s)):
                if value_s is not None and value_s != int(value_s):
                    return f"JMeter counts {what} in whole seconds, found {value_s}: choose a whole number"
        return plain_only("JMeter", profile) or unsupported_mix(requests)

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        """Start, load and stop, in seconds; of an open loop also the time for its last answers."""
        return START_AND_STOP_S + self._offering_s(profile, requests)

    def require(self) -> None:
        """See ``LoadGenerator.require``."""
        self._tools()

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        """A JVM without GUI; JMeter's own pauses go to ``generator-gc.log``."""
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
        """Its plan and its properties."""
        return {PLAN: render_plan(spec, self.last_answers_s), PROPERTIES: render_properties()}

    def rows(self, path: Path) -> RequestTable:
        """Rows of ``samples.jtl``. JMeter makes the number of arrivals exact, also when they are random."""
        return read_jtl(path)

    def errors_by_kind(self, _table: RequestTable, path: Path) -> Counter[str]:
        """Failed rows by status, by exception, as ``wrong body``, or as ``no <name>`` of a capture."""
        kinds: Counter[str] = Counter()
        with path.open(encoding="utf-8", errors="replace") as stream:
            for row in csv.DictReader(stream):
                if row.get("success") == "false":
                    kinds[_kind(row.get("responseCode") or "", row.get("failureMessage") or "")] += 1
        return kinds

    def _offering_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        if isinstance(profile, OpenLoad):
            return SETTLE_S + profile.duration_s + self.last_answers_s
        waiting_s = closed_s(profile, requests, math.inf)
        cold_s = closed_s(profile, requests, ASSUMED_PER_S) - waiting_s
        warm_requests = max(0.0, cold_s * ASSUMED_PER_S - COLD_REQUESTS) if profile.loops else 0.0
        return waiting_s + cold_s - warm_requests * (1 / ASSUMED_PER_S - 1 / WARM_PER_S)

    def _tools(self) -> tuple[Path, Path]:
        if self.java is None or not self.java.exists():
            raise MissingTool(
                "java", why="to run JMeter", how_to_get="make setup (or any JDK of 17 or later)"
            )
        jar = None if self.home is None else self.home / "bin" / "ApacheJMeter.jar"
        if jar is None or not jar.exists():
            raise MissingTool("JMeter", why="to offer the load", how_to_get="make setup")
        return self.java, jar


def adapter(installed: Installed) -> JMeter:
    """Return the adapter of what is installed."""
    jar = installed.programs.get("jmeter")
    return JMeter(home=jar.parent.parent if jar else None, java=installed.java)


def _kind(code: str, message: str) -> str:
    if code.isdigit():
        return message if message == "wrong body" or message.startswith("no ") else f"status {code}"
    name = _CSV_FIELD.search(code)
    return name.group().rsplit(".", 1)[-1] if name else code or message

# SPDX-License-Identifier: Apache-2.0
"""k6: open loop by a constant arrival rate, closed loop by virtual users; mixes and flows; bodies checked.

k6's own csv has a dozen rows (1.4 kB, 0.7 kB without tags) for a request. The script logs one row of 50 bytes instead,
to a file of its own and unbuffered: nothing is lost when k6 is killed. A row's latency counts from asking
for a connection to the last byte, like that of the other tools; k6's ``http_req_duration`` leaves out
the connecting. Bodies are compared as the other adapters do.

Open loop: each connection of the profile is one virtual user, all made before the first arrival. An arrival
that finds all of them waiting is never sent. k6 counts those in ``totals.json`` (``dropped_iterations``);
``n_dropped`` counts them and what was not answered in time, as the arrivals that left no row.
How a load is put to k6 is in ``k6_plan.py``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.formats.row_files import K6_HEADER, K6_SAMPLES
from harness.formats.table import RequestTable
from harness.loadgen.base import LoadSpec, even_only
from harness.loadgen.flow import is_flow, unsupported_mix
from harness.loadgen.summary import RowTool
from harness.loadgen.template import as_it_is
from harness.loadgen.tools.k6_plan import plan_document
from harness.model import ClosedLoad, LoadProfile, OpenLoad, Request

SAMPLES, TOTALS, SCRIPT, PLAN, LOG = "samples.csv", "totals.json", "k6_script.js", "plan.json", "k6.log"
START_AND_STOP_S = 3.0
#: For planning only: what k6 asks of a quick service on a small machine.
ASSUMED_PER_S = 4000.0
#: k6 knows no shorter test.
SHORTEST_S = 1.0
#: k6's numbers for what happened in place of an answer.
ERROR_NAMES = {
    "1000": "error",
    "1010": "dns error",
    "1050": "timeout",
    "1101": "dns: no such host",
    "1200": "tcp error",
    "1201": "broken pipe",
    "1210": "dial error",
    "1211": "dial timeout",
    "1212": "connection refused",
    "1213": "dial error",
    "1220": "connection reset",
}


@dataclass(frozen=True, kw_only=True)
class K6(RowTool):
    """k6 as it is installed."""

    name: str = "k6"
    title = "k6"
    logs = (LOG,)
    outputs = (SAMPLES, TOTALS, SCRIPT, PLAN, LOG)
    environment = MappingProxyType({"K6_AUTO_EXTENSION_RESOLUTION": "false"})  # nothing is looked for elsewhere

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """Refuses random arrivals, and less than a second of them."""
        if isinstance(profile, OpenLoad) and (uneven := even_only("k6", profile)) is not None:
            return uneven
        if profile.duration_s is not None and profile.duration_s < SHORTEST_S:
            return f"k6 runs for at least {SHORTEST_S:g} s, found duration_s {profile.duration_s:g}"
        if isinstance(profile, ClosedLoad):
            if profile.ramp_up_s > (profile.duration_s or math.inf):
                return f"ramp_up_s {profile.ramp_up_s:g} is longer than duration_s {profile.duration_s}"
            if profile.stages and (profile.whole_s or 0) < SHORTEST_S:
                return f"k6 runs for at least {SHORTEST_S:g} s, found stages of {profile.whole_s:g} s"
        return None if is_flow(requests) else unsupported_mix(requests)

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        """Start, load and stop, in seconds."""
        return START_AND_STOP_S + _offering_s(profile)

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        """k6 without REST interface, usage report and console output."""
        return (
            str(self.program),
            "run",
            "--quiet",
            "--no-color",
            "--no-usage-report",
            "--no-thresholds",
            *("--address", ""),  # else it listens on a port of its own
            *("--log-format", "raw"),
            *("--log-output", f"file={spec.folder / LOG},level=error"),  # else a line for each failure
            *("--console-output", str(spec.folder / SAMPLES)),
            str(spec.folder / SCRIPT),
        )

    def files(self, spec: LoadSpec) -> dict[str, str]:
        """A script, and what it reads."""
        plan = json.dumps(plan_document(spec), ensure_ascii=False) + "\n"
        return {SCRIPT: as_it_is(SCRIPT), PLAN: plan, SAMPLES: K6_HEADER + "\n"}  # to which k6 appends

    def rows(self, path: Path) -> RequestTable:
        """Rows of ``samples.csv``."""
        return K6_SAMPLES.read(path)

    def errors_by_kind(self, table: RequestTable, _path: Path) -> Counter[str]:
        """Errors by k6's numbers, in words."""
        kinds: Counter[str] = Counter()
        for error, n in table.errors_by_kind.items():
            kinds[_kind(error)] += n
        return kinds


adapter = K6.of


def _offering_s(profile: LoadProfile) -> float:
    if profile.whole_s is not None:
        return profile.whole_s
    loops = profile.loops or 1
    return profile.ramp_up_s + profile.users * loops / ASSUMED_PER_S + loops * profile.think_time_s


def _kind(error: str) -> str:
    code = error.removeprefix("error ")
    return ERROR_NAMES.get(code, f"k6 error {code}") if code != error else error

# SPDX-License-Identifier: Apache-2.0
"""Locust: closed loop, latencies in float milliseconds by a request listener: its own statistics are rounded, and the
last flush is missing from its csv."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import MissingTool
from harness.formats.row_files import LOCUST_SAMPLES
from harness.formats.table import RequestTable
from harness.loadgen.base import Installed, LoadSpec, plain_only
from harness.loadgen.flow import flow_document, named_twice
from harness.loadgen.summary import RowTool
from harness.loadgen.template import as_it_is
from harness.model import ClosedLoad, LoadProfile, Request
from harness.toolchains import require_package

SAMPLES, SCRIPT, REQUESTS = "samples.csv", "locustfile.py", "requests.json"
#: How long users may take to finish their request when the duration is over.
STOP_WITHIN_S = 10


@dataclass(frozen=True, kw_only=True)
class Locust(RowTool):
    """``python``: the interpreter that has Locust; None: not on this machine."""

    python: Path | None = field(default_factory=lambda: Path(sys.executable))
    name: str = "locust"
    start_and_stop_s, assumed_per_s = 4.0, 2000.0
    outputs = (SAMPLES, SCRIPT, REQUESTS)

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        if not isinstance(profile, ClosedLoad):
            return "Locust's users wait for their answers, so it has no open loop: use jmeter (or k6, vegeta)"
        return plain_only("Locust", profile) or named_twice(requests)

    def require(self) -> None:
        if self.python is None or not self.python.exists():
            raise MissingTool("locust", why="to offer the load", how_to_get="make setup")
        require_package("locust")

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        profile = spec.profile
        assert isinstance(profile, ClosedLoad)  # it supports no other
        per_s = profile.users / profile.ramp_up_s if profile.ramp_up_s else float(profile.users)
        return (
            str(self.python),
            *("-m", "locust", "--headless", "--only-summary", "--loglevel", "WARNING"),
            *("-f", str(spec.folder / SCRIPT)),
            *("--host", spec.endpoint.url),
            *("-u", str(profile.users), "-r", repr(per_s)),
            *("--stop-timeout", str(STOP_WITHIN_S)),
            *("--exit-code-on-error", "0"),  # errors are data; a crash still ends with another code
        )

    def files(self, spec: LoadSpec) -> dict[str, str]:
        return {SCRIPT: as_it_is(SCRIPT), REQUESTS: json.dumps(flow_document(spec.requests)) + "\n"}

    def rows(self, path: Path) -> RequestTable:
        return LOCUST_SAMPLES.read(path)


def adapter(_installed: Installed) -> Locust:
    """Return the adapter: Locust is part of this Python."""
    return Locust()

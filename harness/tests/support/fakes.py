# SPDX-License-Identifier: Apache-2.0
"""Fakes: real implementations, small and quick, held to the same contracts as the parts they stand for."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.formats.row_files import LOCUST_SAMPLES
from harness.formats.table import RequestTable
from harness.loadgen.base import LoadSpec
from harness.loadgen.flow import flow_document
from harness.loadgen.summary import RowTool
from harness.loadgen.tools.locust import REQUESTS
from harness.model import ClosedLoad, LoadProfile, OpenLoad, Request

CLIENT = Path(__file__).with_name("fake_client.py")


@dataclass(frozen=True, kw_only=True)
class FakeLoadGenerator(RowTool):
    """A load generator that is a page of Python: closed and open loops, up in a tenth of a second."""

    name: str = "locust"
    outputs = ("samples.csv", REQUESTS)

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """A thread per user or arrival: only small loads."""
        size = profile.users if isinstance(profile, ClosedLoad) else profile.rate_per_s * profile.duration_s
        return "the fake generator is for at most 2000 users or arrivals" if size > 2000 else None

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        """A second, and the load."""
        loops = 0 if isinstance(profile, OpenLoad) else (profile.loops or 0)
        return 1.0 + (profile.duration_s or loops * 0.1)

    def require(self) -> None:
        """It is a part of the tests."""

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        """This Python, running ``fake_client.py``, without site packages, which take it as long as its own modules."""
        return (sys.executable, "-I", "-S", str(CLIENT), str(spec.folder))

    def files(self, spec: LoadSpec) -> dict[str, str]:
        """What is asked."""
        return {REQUESTS: json.dumps(flow_document(spec.requests))}

    def rows(self, path: Path) -> RequestTable:
        """Rows of ``samples.csv``."""
        return LOCUST_SAMPLES.read(path)

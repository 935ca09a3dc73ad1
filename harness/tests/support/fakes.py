# SPDX-License-Identifier: Apache-2.0
"""Fakes: real implementations, small and quick, held to the same contracts as the parts they stand for."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError, TrialFailure
from harness.formats.row_files import LOCUST_SAMPLES
from harness.loadgen.base import LoadCommand, LoadSpec
from harness.loadgen.summary import (
    last_words,
    n_dropped,
    order_text,
    read_order,
    summarise,
)
from harness.loadgen.tools.locust import what_is_asked
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad, Request

CLIENT = Path(__file__).with_name("fake_client.py")


@dataclass(frozen=True, kw_only=True)
class FakeLoadGenerator:
    """A load generator that is a page of Python: closed and open loops, up in a tenth of a second.

    Its command sends real requests. ``name`` is that of the tool it stands for in a definition.
    """

    name: str = "locust"

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

    def command(self, spec: LoadSpec) -> LoadCommand:
        """This Python, running ``fake_client.py``."""
        name, asked = what_is_asked(spec)
        return LoadCommand(
            # without site packages, which take it as long as its own modules
            argv=(sys.executable, "-I", "-S", str(CLIENT), str(spec.folder)),
            files={"order.json": order_text(spec), name: json.dumps(asked)},
            outputs=("samples.csv", "order.json", name),
            expected_s=self.expected_s(spec.profile, spec.requests),
        )

    def read(self, folder: Path) -> LoadSummary:
        """Totals of ``samples.csv``."""
        path = folder / "samples.csv"
        try:
            table = LOCUST_SAMPLES.read(path)
        except InputError as problem:
            said = last_words(folder, "generator.stderr.txt")
            raise TrialFailure("failed", f"no samples ({problem}); output: {said}") from problem
        if not table.n_requests:
            raise TrialFailure("failed", f"{path} has no rows")
        with path.open(encoding="utf-8", errors="replace") as stream:
            errors = [line.rstrip("\n").rsplit(",", 1)[-1] for line in stream if ",false," in line]
        dropped = None
        order = read_order(folder)
        if isinstance(order.profile, OpenLoad):
            n_arrivals = int(order.profile.rate_per_s * order.profile.duration_s)
            dropped = n_dropped(table, order, n_arrivals)
        return summarise(table, order, errors_by_kind=Counter(errors), n_dropped=dropped)

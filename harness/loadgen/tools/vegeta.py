# SPDX-License-Identifier: Apache-2.0
"""vegeta: open loop, evenly spaced arrivals, one row per request in ns; mixes in a fixed order.

Its own binary form becomes csv after the load. Statuses are checked (2xx and 3xx are right), bodies are not. It opens
connections as it needs them; when it falls behind its schedule, it sends late and counts from then.
"""

from __future__ import annotations

import base64
import csv
import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from harness.formats.row_files import VEGETA_COLUMNS, VEGETA_CSV, VEGETA_ERROR, VEGETA_STATUS
from harness.formats.table import RequestTable
from harness.loadgen.base import LoadSpec, plain_only
from harness.loadgen.flow import no_flow, one_round, other_statuses, unsupported_mix
from harness.loadgen.summary import RowTool
from harness.model import LoadProfile, OpenLoad, Request

SAMPLES, RESULTS, TARGETS = "samples.csv", "results.bin", "targets.jsonl"
#: An answer that takes longer is an error.
TIMEOUT_S = 60


@dataclass(frozen=True, kw_only=True)
class Vegeta(RowTool):
    """vegeta as it is installed."""

    name: str = "vegeta"
    how_to_get = "make generators"
    outputs = (SAMPLES, TARGETS)
    bodies_checked = False

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        if not isinstance(profile, OpenLoad):
            return "vegeta has a rate and no users: use k6, jmeter, locust or wrk for a closed loop"
        refusal = plain_only("vegeta", profile, even=True) or other_statuses("vegeta", requests)
        refusal = refusal or no_flow("vegeta", requests)
        return refusal or unsupported_mix(requests)

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        profile, folder = spec.profile, spec.folder
        assert isinstance(profile, OpenLoad)  # it supports no other
        rate = Fraction(profile.rate_per_s).limit_denominator(1000)
        return (
            str(self.program),
            "attack",
            *("-format", "json", "-targets", str(folder / TARGETS)),
            *("-rate", f"{rate.numerator}/{rate.denominator}s"),
            *("-duration", f"{round(profile.duration_s * 1e6)}us"),
            *("-connections", str(profile.connections)),
            *("-timeout", f"{TIMEOUT_S}s"),
            *("-redirects", "-1"),
            *("-max-body", "0"),
            *("-output", str(folder / RESULTS)),
        )

    def after(self, spec: LoadSpec) -> tuple[tuple[str, ...], ...]:
        samples, results = str(spec.folder / SAMPLES), str(spec.folder / RESULTS)
        return ((str(self.program), "encode", "-to", "csv", "-output", samples, results), ("rm", results))

    def files(self, spec: LoadSpec) -> dict[str, str]:
        lines = [_target(request, spec.endpoint.url) for request in spec.requests]
        return {TARGETS: "".join(lines[index] + "\n" for index in one_round(spec.requests))}

    def rows(self, path: Path) -> RequestTable:
        return VEGETA_CSV.read(path)

    def errors_by_kind(self, _table: RequestTable, path: Path) -> Counter[str]:
        """Return errors by status, or by the end of the error of a request without an answer."""
        kinds: Counter[str] = Counter()
        with path.open(encoding="utf-8", errors="replace") as stream:
            for row in csv.reader(stream):
                if len(row) == VEGETA_COLUMNS and (status := row[VEGETA_STATUS])[:1] not in {"2", "3"}:
                    end = row[VEGETA_ERROR].rsplit(": ", 1)[-1].replace(",", ";") or "no answer"
                    kinds[end if status == "0" else f"status {status}"] += 1
        return kinds


adapter = Vegeta.of


def _target(request: Request, base: str) -> str:
    target: dict[str, object] = {"method": request.method, "url": base + request.path}
    if request.body is not None:
        target["body"] = base64.b64encode(request.body.encode()).decode("ascii")
    if request.headers:
        target["header"] = {name: [value] for name, value in request.headers.items()}
    return json.dumps(target)

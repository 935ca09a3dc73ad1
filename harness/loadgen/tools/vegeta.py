# SPDX-License-Identifier: Apache-2.0
"""vegeta: open loop, evenly spaced arrivals, one row per request in ns; mixes in a fixed order.

vegeta writes its own binary form while it attacks; after the load ``vegeta encode`` makes csv of it, which has all
that the binary form has and replaces it.
Statuses are checked (2xx and 3xx are right), bodies are not. It opens connections as it needs them:
an arrival never waits for another. When vegeta itself falls behind its schedule, it sends late and
counts from then.
"""

from __future__ import annotations

import base64
import csv
import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from harness.errors import TrialFailure
from harness.formats.row_files import VEGETA_COLUMNS, VEGETA_CSV, VEGETA_ERROR, VEGETA_STATUS
from harness.loadgen.base import LoadCommand, LoadSpec, ProgramTool, plain_only, refuse
from harness.loadgen.flow import no_flow, one_round, other_statuses, unsupported_mix
from harness.loadgen.summary import (
    ORDER_FILE,
    existing,
    last_output,
    n_dropped,
    open_text,
    order_text,
    read_order,
    read_rows,
    summarise,
)
from harness.model import LoadProfile, LoadSummary, OpenLoad, Request

SAMPLES, RESULTS, TARGETS = "samples.csv", "results.bin", "targets.jsonl"
START_AND_STOP_S = 2.0
#: An answer that takes longer is an error.
TIMEOUT_S = 60


@dataclass(frozen=True, kw_only=True)
class Vegeta(ProgramTool):
    """vegeta as it is installed."""

    name: str = "vegeta"
    how_to_get = "make generators"

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """Only a rate with even spacing, and only requests that can be repeated as they are."""
        if not isinstance(profile, OpenLoad):
            return "vegeta has a rate and no users: use k6, jmeter, locust or wrk for a closed loop"
        refusal = plain_only("vegeta", profile, even=True) or other_statuses("vegeta", requests)
        refusal = refusal or no_flow("vegeta", requests)
        return refusal or unsupported_mix(requests)

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        """Start, load and stop, in seconds."""
        return START_AND_STOP_S + (profile.whole_s or 0.0)

    def command(self, spec: LoadSpec) -> LoadCommand:
        """The attack, then the encoding of what it left, and the end of what was encoded."""
        refuse(self, spec.profile, spec.requests)
        assert isinstance(spec.profile, OpenLoad)  # it supports no other
        profile, folder = spec.profile, spec.folder
        rate = Fraction(profile.rate_per_s).limit_denominator(1000)
        return LoadCommand(
            argv=(
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
            ),
            after=(
                (
                    str(self.program),
                    "encode",
                    *("-to", "csv", "-output", str(folder / SAMPLES)),
                    str(folder / RESULTS),
                ),
                ("rm", str(folder / RESULTS)),
            ),
            files={TARGETS: targets(spec), ORDER_FILE: order_text(spec)},
            outputs=(SAMPLES, TARGETS, ORDER_FILE),
            expected_s=self.expected_s(spec.profile, spec.requests),
        )

    def read(self, folder: Path) -> LoadSummary:
        """Totals of ``samples.csv``; ``n_dropped``: arrivals of the schedule that left no row."""
        order, path = read_order(folder), existing(folder, SAMPLES)
        if not path.exists():
            reason = f"vegeta ended before its results could be encoded: no {SAMPLES}; {last_output(folder)}"
            raise TrialFailure("failed", reason)
        table = read_rows(VEGETA_CSV.read, path, "vegeta")
        dropped = None
        if isinstance(order.profile, OpenLoad):
            dropped = n_dropped(table, order, order.profile.n_arrivals)
        kinds = _errors_by_kind(path) if table.n_errors else Counter[str]()
        return summarise(table, order, errors_by_kind=kinds, n_dropped=dropped, bodies_checked=False)


adapter = Vegeta.of


def targets(spec: LoadSpec) -> str:
    """A round of the mix as vegeta's JSON targets, one a line; vegeta takes them in turn."""
    lines = [_target(request, spec.endpoint.url) for request in spec.requests]
    return "".join(lines[index] + "\n" for index in one_round(spec.requests))


def _target(request: Request, base: str) -> str:
    target: dict[str, object] = {"method": request.method, "url": base + request.path}
    if request.body is not None:
        target["body"] = base64.b64encode(request.body.encode()).decode("ascii")
    if request.headers:
        target["header"] = {name: [value] for name, value in request.headers.items()}
    return json.dumps(target)


def _errors_by_kind(path: Path) -> Counter[str]:
    """By status, or by the last words of the error of a request without an answer."""
    kinds: Counter[str] = Counter()
    with open_text(path) as stream:
        for row in csv.reader(stream):
            if len(row) == VEGETA_COLUMNS and row[VEGETA_STATUS][:1] not in {"2", "3"}:
                kinds[_kind(row[VEGETA_STATUS], row[VEGETA_ERROR])] += 1
    return kinds


def _kind(status: str, error: str) -> str:
    if status != "0":
        return f"status {status}"
    return error.rsplit(": ", 1)[-1].replace(",", ";") or "no answer"

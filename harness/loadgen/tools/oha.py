# SPDX-License-Identifier: Apache-2.0
"""oha: one request, over and over; open loop at a rate with corrected latencies, or closed loop; times in ns.

Rows are in SQLite, which has when each was due, and errors in JSON. Statuses are checked (2xx and 3xx are right),
bodies are not. An arrival that finds every connection busy waits; what still waits at the end is never sent.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness.formats.json_summaries import read_json
from harness.formats.row_files import read_oha_db
from harness.loadgen.base import ORDER_FILE, LoadGenerator, LoadSpec, plain_only
from harness.loadgen.flow import no_flow, other_statuses
from harness.loadgen.summary import read_order, read_rows, read_totals
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad, Request

SAMPLES, TOTALS, BODY = "samples.db", "totals.json", "body.txt"
#: An answer that takes longer is an error.
TIMEOUT_S = 60
#: A status as reports name it; records name it ``status 500``.
_HTTP = re.compile(r"^HTTP (?=\d+$)")


@dataclass(frozen=True, kw_only=True)
class Oha(LoadGenerator):
    """oha as it is installed."""

    name: str = "oha"
    how_to_get = "make generators"
    outputs = (SAMPLES, TOTALS, BODY)
    assumed_per_s, written_per_s = 20_000.0, 100_000.0

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        if (flow := no_flow("oha", requests)) is not None:
            return flow
        if len(requests) > 1:
            names = ", ".join(request.name for request in requests)
            return f"oha repeats one request, the mix has {len(requests)} ({names}): use k6, jmeter or locust"
        plain = plain_only("oha", profile, waits=True, at_once=True, loops=False, even=True)
        return plain or other_statuses("oha", requests)

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        request, folder = spec.requests[0], spec.folder
        body = () if request.body is None else ("-D", str(folder / BODY))
        return (
            str(self.program),
            "--no-tui",
            "--no-color",
            "--disable-compression",  # the others do not ask for it either
            *("--redirect", "0"),
            *("-t", f"{TIMEOUT_S}s"),
            *_load_arguments(spec.profile),
            *("-m", request.method),
            *(word for name, value in request.headers.items() for word in ("-H", f"{name}: {value}")),
            *body,
            *("--output-format", "json", "-o", str(folder / TOTALS)),
            *("--db-url", str(folder / SAMPLES)),
            f"{spec.endpoint.url}{request.path}",
        )

    def files(self, spec: LoadSpec) -> dict[str, str]:
        body = spec.requests[0].body
        return {} if body is None else {BODY: body}

    def read(self, folder: Path) -> LoadSummary:
        """Return totals of the rows, and the errors that left none. ``n_dropped``: arrivals that were never sent."""
        began = _start_epoch_s(folder)  # before anything is read
        order, totals = read_order(folder), read_totals(read_json, folder / TOTALS, self.name)
        n_unanswered = 0 if totals.total is None else totals.total.n_unanswered
        table = read_rows(read_oha_db, folder / SAMPLES, self.name, n_more=n_unanswered)
        n_requests = table.n_requests + n_unanswered
        errors = Counter({_HTTP.sub("status ", kind): n for kind, n in totals.errors_by_kind.items()})
        profile, first = order.profile, table.first_start_epoch_s
        rate_per_s = profile.rate_per_s if isinstance(profile, OpenLoad) else None
        duration_s = table.duration_s or totals.duration_s or 0.0
        return LoadSummary(
            n_requests=n_requests,
            n_errors=errors.total(),
            start_epoch_s=None if began is None or first is None else began + first,
            duration_s=duration_s,
            offered_per_s=rate_per_s,
            achieved_per_s=n_requests / duration_s if duration_s > 0 else 0.0,
            latency_mean_s=float(table.latency_s.mean()) if table.n_requests else None,
            resolution_s=table.resolution_s,
            has_requests=table.n_requests > 0,
            n_dropped=max(0, profile.n_arrivals - n_requests) if isinstance(profile, OpenLoad) else None,
            bodies_checked=False,
            errors_by_kind={kind.replace(",", ";"): n for kind, n in errors.most_common()},
        )


adapter = Oha.of


def _load_arguments(profile: LoadProfile) -> tuple[str, ...]:
    until = ("-z", f"{round((profile.duration_s or 0) * 1e6)}us", "-w")  # -w: what is under way is waited for
    if isinstance(profile, ClosedLoad):
        return ("-c", str(profile.users), *until)
    rate = ("-q", f"{profile.rate_per_s:.6f}".rstrip("0").rstrip("."), "--latency-correction")
    return ("-c", str(profile.connections), *until, *rate)


def _start_epoch_s(folder: Path) -> float | None:
    """Return when oha started: its times count from then, and it makes its totals' file right before.

    Until somebody reads that file, its access time is that of its making (to a few ms): so this holds once, right after
    the load. None when it cannot be.
    """
    try:
        made, ordered = (folder / TOTALS).stat(), (folder / ORDER_FILE).stat()
    except OSError:
        return None
    return made.st_atime if ordered.st_mtime <= made.st_atime <= made.st_mtime else None

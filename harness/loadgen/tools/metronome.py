# SPDX-License-Identifier: Apache-2.0
"""metronome, this project's own generator (``metronome.c``): open or closed loop, one row a request, times in ns.

It never sleeps, so it needs a CPU of its own. Latencies begin when a request was due; a row has its time from sending
as well, and for how long the generator itself held it up. Bodies are compared as text with the right renderings.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from harness.agent.http_exchange import request_bytes
from harness.formats.row_files import HELD_UP_S, METRONOME_SAMPLES
from harness.loadgen.base import LoadGenerator, LoadSpec, plain_only
from harness.loadgen.flow import no_flow, right_bodies
from harness.loadgen.summary import read_json_totals, read_order, read_rows, read_totals, summarise
from harness.model import Endpoint, LoadProfile, LoadSummary, OpenLoad, Request

SAMPLES, TOTALS, REQUESTS = "samples.csv", "totals.json", "requests.txt"
#: An answer that takes longer is an error; how long the last ones are awaited.
TIMEOUT_S, GRACE_S = 60, 10
#: Seeds are whole numbers below this.
SEEDS = 2**53


@dataclass(frozen=True, kw_only=True)
class Metronome(LoadGenerator):
    """metronome as it was built."""

    name: str = "metronome"
    outputs = (SAMPLES, TOTALS, REQUESTS)
    start_and_stop_s, assumed_per_s, written_per_s = 1.0, 50_000.0, 1_000_000.0

    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        plain = plain_only("metronome", profile, waits=True, at_once=True, loops=False)
        return plain or no_flow("metronome", requests)

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        profile, folder = spec.profile, spec.folder
        if isinstance(profile, OpenLoad):
            rate = ("-r", f"{profile.rate_per_s:.6f}", *(("-p",) if profile.arrivals == "poisson" else ()))
            load = (*rate, "-c", str(profile.connections))
        else:
            load = ("-u", "-c", str(profile.users))
        return (
            str(self.program),
            *load,
            *("-d", f"{profile.whole_s:.6f}", "-g", str(GRACE_S), "-t", str(TIMEOUT_S)),
            *("-l", f"{HELD_UP_S * 1e6:g}", "-s", str(spec.seed % SEEDS)),
            *("-o", str(folder / SAMPLES), "-j", str(folder / TOTALS)),
            *(spec.endpoint.host, str(spec.endpoint.port), str(folder / REQUESTS)),
        )

    def files(self, spec: LoadSpec) -> dict[str, str]:
        return {REQUESTS: "".join(_written(request, spec.endpoint) for request in spec.requests)}

    def read(self, folder: Path) -> LoadSummary:
        """Return totals of the rows. ``n_dropped``: arrivals that were never sent."""
        order = read_order(folder)
        totals = read_totals(read_json_totals, folder / TOTALS, self.name)
        table = read_rows(METRONOME_SAMPLES.read, folder / SAMPLES, self.name)
        if not isinstance(order.profile, OpenLoad):
            return summarise(table, order)
        late = totals["n_late"] / totals["n_rows"] if totals["n_rows"] else None
        return summarise(table, order, n_dropped=totals["n_unsent"]).model_copy(update={"late_share": late})


adapter = Metronome.of


def _written(request: Request, endpoint: Endpoint) -> str:
    """Return the request as the head of ``metronome.c`` describes it; its name as a field of csv."""
    field = io.StringIO()
    csv.writer(field, lineterminator="").writerow([request.name])
    name = field.getvalue()
    body = None if request.body is None else request.body.encode()
    sent = request_bytes(request.method, request.path, request.headers, body, endpoint)
    right = right_bodies(request.expect) or ()
    sizes = (len(name.encode()), len(sent), len(right))
    head = (request.weight, request.expect.status, int(request.method == "HEAD"), *sizes)
    bodies = "".join(f"{len(text.encode())}\n{text}" for text in right)
    return f"{' '.join(map(str, head))}\n{name}{sent.decode()}{bodies}"

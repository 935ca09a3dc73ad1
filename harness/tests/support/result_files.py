# SPDX-License-Identifier: Apache-2.0
"""Small result files of every tool, made from one list of requests, so that every number of a file is known."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


def oha_db(path: Path, rows: Sequence[tuple[float, float | None, float, int]], run: int = 1795273471) -> Path:
    """An SQLite file as oha writes it, or appends to it: start, when it was due, duration, status."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS oha (url TEXT NOT NULL, start REAL NOT NULL, start_latency_correction REAL, end REAL NOT NULL,"
        " duration REAL NOT NULL, status INTEGER NOT NULL, len_bytes INTEGER NOT NULL, run INTEGER NOT NULL)"
    )
    connection.executemany(
        "INSERT INTO oha VALUES ('http://x/', ?, ?, ?, ?, ?, 13, ?)",
        [
            (start, due, (start if due is None else due) + took, took, status, run)
            for start, due, took, status in rows
        ],
    )
    connection.commit()
    connection.close()
    return path


START_S = 1_764_325_800.0
MEAN = "mean"


@dataclass(frozen=True, kw_only=True)
class Made:
    """Requests that follow each other: start since the first and latency in whole milliseconds, and which failed."""

    start_ms: Sequence[int]
    latency_ms: Sequence[int]
    ok: Sequence[bool]

    @property
    def n(self) -> int:
        """Requests."""
        return len(self.latency_ms)

    @property
    def n_errors(self) -> int:
        """Requests that failed."""
        return self.n - sum(self.ok)

    @property
    def duration_s(self) -> float:
        """First start to last answer."""
        ends = [at + took for at, took in zip(self.start_ms, self.latency_ms, strict=True)]
        return (max(ends) - min(self.start_ms)) / 1e3

    def mean_ms(self, *, of_all: bool) -> float:
        """Mean latency, of all requests or of those that succeeded."""
        some = [took for took, right in zip(self.latency_ms, self.ok, strict=True) if of_all or right]
        return float(np.mean(some))


def requests(n: int, *, failed: int = 0, seed: int = 1) -> Made:
    """``n`` requests, one begun every 20 ms, of which the first ``failed`` fail."""
    rng = np.random.default_rng(seed)
    return Made(
        start_ms=[20 * i for i in range(n)],
        latency_ms=rng.integers(10, 200, n).tolist(),
        ok=[i >= failed for i in range(n)],
    )


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def _rows(made: Made) -> list[tuple[int, int, bool]]:
    return list(zip(made.start_ms, made.latency_ms, made.ok, strict=True))


def _epoch_ms(at_ms: int) -> int:
    return int(START_S * 1e3) + at_ms


JTL_HEADER = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,Latency,Connect"


def jtl(made: Made) -> str:
    """JMeter's csv with one name of request; threads take turns so that none overlaps itself."""
    return _lines(JTL_HEADER, *jtl_rows(made))


def jtl_rows(made: Made, *, first_s: float = 0.0) -> list[str]:
    """The rows of :func:`jtl`, begun ``first_s`` later."""
    return [
        f"{_epoch_ms(at) + round(first_s * 1e3)},{took},GET /a,{'200,OK' if ok else '500,Error'},u 1-{i % 20},"
        f"{str(ok).lower()},{took - 1},0"
        for i, (at, took, ok) in enumerate(_rows(made))
    ]


def _locust_stats(made: Made) -> str:
    took = sorted(made.latency_ms) or [0]
    numbers = (
        f"{made.n},{made.n_errors},{took[len(took) // 2]},{np.mean(took)},{took[0]},{took[-1]},10,5.0,0.1"
    )
    shares = ",".join(str(took[min(len(took) - 1, len(took) * share // 100)]) for share in (50, 90, 99))
    head = (
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,"
        "Max Response Time,Average Content Size,Requests/s,Failures/s,50%,90%,99%,100%"
    )
    return _lines(head, f"GET,/a,{numbers},{shares},{took[-1]}", f",Aggregated,{numbers},{shares},{took[-1]}")


def _locust_history(made: Made) -> str:
    """Totals of what was answered by each whole second."""
    head = (
        "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,99%,Total Request Count,Total Failure Count,"
        "Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time"
    )
    lines = [head]
    for second in range(2 + int(made.duration_s) if made.n else 2):
        rows = [(took, ok) for at, took, ok in _rows(made) if at + took <= second * 1000]
        took = sorted(one for one, _ in rows) or [0]
        totals = f"{len(rows)},{sum(not ok for _, ok in rows)},{took[len(took) // 2]},{np.mean(took)},{took[0]},{took[-1]}"
        lines.append(f"{int(START_S) + second},10,,Aggregated,5.0,0.1,N/A,N/A,{totals}")
    return _lines(*lines)


def _locust_samples(made: Made) -> str:
    rows = [f"{START_S + at / 1e3:.3f},{took}.0,{str(ok).lower()},a" for at, took, ok in _rows(made)]
    return _lines("start_epoch_s,latency_ms,ok,name", *rows)


def _metronome(made: Made) -> str:
    rows = [
        f"{START_S + at / 1e3:.9f},{took / 1e3:.9f},{str(ok).lower()},a,{'' if ok else 'status 500'},{took / 1e3:.9f},0.000001000"
        for at, took, ok in _rows(made)
    ]
    return _lines("due_epoch_s,latency_s,ok,name,error,service_time_s,send_delay_s", *rows)


def _k6_csv(made: Made) -> str:
    head = "metric_name,timestamp,metric_value,error,expected_response,name,status"
    rows = [
        f"http_req_duration,{_epoch_ms(at + took)},{took}.0,,{str(ok).lower()},a,{200 if ok else 500}"
        for at, took, ok in _rows(made)
    ]
    return _lines(head, *rows)


def _instant(at_ms: int) -> str:
    minutes, ms = divmod(at_ms, 60_000)
    return f"2025-11-28T10:{30 + minutes:02d}:{ms // 1000:02d}.{ms % 1000:03d}Z"


def _k6_json(made: Made) -> str:
    head = {"type": "Metric", "metric": "http_req_duration", "data": {"name": "http_req_duration"}}
    rows = [
        {"type": "Point", "metric": "http_req_duration", "data": {
            "time": _instant(at + took), "value": took,
            "tags": {"expected_response": str(ok).lower(), "status": "200" if ok else "500", "name": "a"},
        }}
        for at, took, ok in _rows(made)
    ]  # fmt: skip
    return _lines(*map(json.dumps, [head, *rows]))


def _k6_summary(made: Made) -> str:
    took = made.latency_ms or [0]
    metrics = {
        "http_reqs": {"count": made.n, "rate": made.n / 10},
        "http_req_duration": {"avg": float(np.mean(took)), "min": min(took), "med": float(np.median(took)), "max": max(took)},
        "http_req_failed": {"passes": made.n_errors, "fails": made.n - made.n_errors},
    }  # fmt: skip
    return json.dumps({"metrics": metrics, "root_group": {"name": "", "checks": {}}}, indent=1) + "\n"


def _oha_csv(made: Made) -> str:
    rows = [f"{at / 1e3},0,0,0,{took / 1e3},10,{200 if ok else 500}" for at, took, ok in _rows(made)]
    return _lines("request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status", *rows)


def _oha_db(made: Made) -> bytes:
    rows = [(at / 1e3, None, took / 1e3, 200 if ok else 500) for at, took, ok in _rows(made)]
    with tempfile.TemporaryDirectory() as folder:
        return oha_db(Path(folder) / "oha.db", rows).read_bytes()


def _oha_json(made: Made) -> str:
    took = [one / 1e3 for one in made.latency_ms]
    codes = {"200": made.n - made.n_errors, "500": made.n_errors}
    found = {
        "summary": {
            "total": 10.0, "average": float(np.mean(took)) if took else None, "fastest": min(took, default=None),
            "slowest": max(took, default=None), "requestsPerSec": made.n / 10,
        },
        "latencyPercentiles": {"p50": float(np.median(took)) if took else None},
        "statusCodeDistribution": {code: n for code, n in codes.items() if n},
        "errorDistribution": {"aborted due to deadline": 3},
    }  # fmt: skip
    return json.dumps(found, indent=2) + "\n"


def _hey(made: Made) -> str:
    head = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"
    rows = [f"{took / 1e3:.4f},0,0,0,0,0,{200 if ok else 500},{at / 1e3:.4f}" for at, took, ok in _rows(made)]
    return _lines(head, *rows)


def vegeta_csv(made: Made, columns: int = 12) -> str:
    """vegeta's csv, with as many columns as a release writes."""
    rows = [
        (f"{_epoch_ms(at)}000000", "200" if ok else "0", f"{took}000000", "0", "10", "" if ok else "refused",
         "", "", str(i), "GET", "http://127.0.0.1/a", "")
        for i, (at, took, ok) in enumerate(_rows(made))
    ]  # fmt: skip
    return _lines(*(",".join(row[:columns]) for row in rows))


def _vegeta_lines(made: Made) -> str:
    rows = [
        {"attack": "", "seq": i, "code": 200 if ok else 500, "timestamp": _instant(at), "latency": took * 10**6,
         "error": "", "method": "GET", "url": "http://127.0.0.1/a"}
        for i, (at, took, ok) in enumerate(_rows(made))
    ]  # fmt: skip
    return _lines(*map(json.dumps, rows))


def _vegeta_report(made: Made) -> str:
    took = [one * 10**6 for one in made.latency_ms] or [0]
    found = {
        "latencies": {"total": sum(took), "mean": int(np.mean(took)), "50th": int(np.median(took)), "max": max(took), "min": min(took)},
        "earliest": "2025-11-28T10:30:00Z", "duration": 10 * 10**9, "wait": 0, "requests": made.n, "rate": made.n / 10,
        "status_codes": {"200": made.n - made.n_errors, "500": made.n_errors}, "errors": [],
    }  # fmt: skip
    return json.dumps(found) + "\n"


def _autocannon(made: Made) -> str:
    took = made.latency_ms or [0]
    found = {
        "url": "http://127.0.0.1/a", "connections": 10, "duration": 10.0, "errors": 0, "timeouts": 0,
        "non2xx": made.n_errors, "statusCodeStats": {"200": {"count": made.n - made.n_errors}, "500": {"count": made.n_errors}},
        "latency": {"average": float(np.mean(took)), "min": min(took), "max": max(took), "p50": float(np.median(took)), "totalCount": made.n},
        "requests": {"total": made.n},
    }  # fmt: skip
    return json.dumps(found) + "\n"


def wrk(
    *,
    requests: int,
    mean: str = "7.99ms",
    largest: str = "12.71ms",
    shares: Sequence[str] = ("7.81ms", "8.60ms", "9.72ms", "11.90ms"),
    connections: int = 20,
    seconds: float = 10.01,
    errors: Sequence[str] = (),
) -> str:
    """What wrk prints with ``--latency``. Errors: lines such as ``Socket errors: connect 0, ...``."""
    return _lines(
        "Running 10s test @ http://127.0.0.1:8080/json",
        f"  2 threads and {connections} connections",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        f"    Latency   {mean:>8}    1.70ms {largest:>8}   93.85%",
        "    Req/Sec     1.23k    96.30     1.41k    71.00%",
        "  Latency Distribution",
        *(f"     {share}%  {_padded(took)}" for share, took in zip((50, 75, 90, 99), shares, strict=True)),
        f"  {requests} requests in {seconds:.2f}s, 2.62MB read",
        *(f"  {line}" for line in errors),
        f"Requests/sec: {requests / seconds:9.2f}",
        "Transfer/sec:    268.11KB",
    )


def _padded(took: str) -> str:
    """A time in the width that wrk gives it: a blank behind it makes up for the second letter of a unit."""
    return f"{took:>8}" if took[-2].isalpha() else f"{took:>7} "


def _wrk(made: Made) -> str:
    some = made.n > 0
    shares = ("7.81ms", "8.60ms", "9.72ms", "11.90ms") if some else ("0.00us",) * 4
    ends = {"mean": "7.99ms", "largest": "12.71ms"} if some else {"mean": "0.00us", "largest": "0.00us"}
    failed = (f"Non-2xx or 3xx responses: {made.n_errors}",) if made.n_errors else ()
    return wrk(requests=made.n, shares=shares, errors=failed, **ends)  # type: ignore[arg-type]  # its own words


def wrk2(made: Made, errors: Sequence[str] | None = None) -> str:
    """What wrk2 prints with ``--latency``. Errors: as of :func:`wrk`; ``None``: the failed requests."""
    mean, largest = (made.mean_ms(of_all=True), max(made.latency_ms)) if made.n else (0.0, 0)
    if errors is None:
        errors = (f"Non-2xx or 3xx responses: {made.n_errors}",) if made.n_errors else ()
    return _lines(
        "Running 10s test @ http://127.0.0.1:8080/json",
        "  2 threads and 20 connections",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        f"    Latency   {mean:.2f}ms    1.70ms {largest:.2f}ms   93.85%",
        "  Latency Distribution (HdrHistogram - Recorded Latency)",
        f" 50.000%  {np.median(made.latency_ms or [0]):.2f}ms",
        f"#[Mean    =  {mean:.3f}, StdDeviation   =  1.000]",
        f"#[Max     =  {largest:.3f}, Total count    =  {made.n}]",
        f"  {made.n} requests in 10.00s, 2.62MB read",
        *(f"  {line}" for line in errors),
        f"Requests/sec: {made.n / 10:9.2f}",
    )


def _gatling(made: Made) -> str:
    rows = [
        f"REQUEST\t\tbuy\t{_epoch_ms(at)}\t{_epoch_ms(at + took)}\t{'OK' if ok else 'KO'}\t{' ' if ok else 'found 500'}"
        for at, took, ok in _rows(made)
    ]
    return _lines(f"RUN\tshop.Order\torder\t{_epoch_ms(0)}\t \t3.9.5", *rows)


def _csv(made: Made) -> str:
    rows = [f"{START_S + at / 1e3:.3f},{took},{200 if ok else 500},a" for at, took, ok in _rows(made)]
    return _lines("timestamp,latency_ms,status,name", *rows)


def aggregate(made: Made, share: str | None = None, rate: str = "5.0") -> str:
    """JMeter's aggregate table, with these texts for the share of errors and the rate."""
    took = sorted(made.latency_ms) or [0]
    share = f"{100 * made.n_errors / max(made.n, 1):.2f}%" if share is None else share
    numbers = f"{made.n},{np.mean(took):.0f},{took[len(took) // 2]},{took[-1]},{took[-1]},{took[-1]},{took[0]},{took[-1]},{share},{rate}"
    head = "Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput"
    return _lines(head, f"a,{numbers}", f"TOTAL,{numbers}")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of file. ``exact``: its mean is that of the requests; ``of_all``: of failed ones, too; ``has_rows``."""

    name: str
    write: Callable[[Made], str | bytes]
    has_rows: bool = True
    of_all: bool = False
    exact: bool = True
    has_labels: bool = True

    def data(self, made: Made) -> bytes:
        """Return the bytes of a file."""
        content = self.write(made)
        return content if isinstance(content, bytes) else content.encode()


#: Each row of the table of input files in docs/report.md, tool by tool.
KINDS = (
    Kind(name="results.jtl", write=jtl),
    Kind(name="aggregate.csv", write=aggregate, has_rows=False, of_all=True, exact=False),
    Kind(name="other.csv", write=_csv),
    Kind(name="run_stats.csv", write=_locust_stats, has_rows=False, of_all=True),
    Kind(name="run_stats_history.csv", write=_locust_history, has_rows=False, of_all=True, has_labels=False),
    Kind(name="samples.csv", write=_locust_samples),
    Kind(name="metronome.csv", write=_metronome),
    Kind(name="k6.csv", write=_k6_csv),
    Kind(name="k6.json", write=_k6_json),
    Kind(name="summary.json", write=_k6_summary, has_rows=False, of_all=True, has_labels=False),
    Kind(name="oha.csv", write=_oha_csv, has_labels=False),
    Kind(name="oha.db", write=_oha_db, has_labels=False),
    Kind(name="oha.json", write=_oha_json, has_rows=False, of_all=True, has_labels=False),
    Kind(name="hey.csv", write=_hey, has_labels=False),
    Kind(name="vegeta.csv", write=vegeta_csv),
    Kind(name="vegeta.json", write=_vegeta_lines),
    Kind(name="vegeta-report.json", write=_vegeta_report, has_rows=False, of_all=True, has_labels=False),
    Kind(name="autocannon.json", write=_autocannon, has_rows=False, of_all=True, has_labels=False),
    Kind(name="wrk.txt", write=_wrk, has_rows=False, of_all=True, exact=False, has_labels=False),
    Kind(name="wrk2.txt", write=wrk2, has_rows=False, of_all=True, has_labels=False),
    Kind(name="simulation.log", write=_gatling),
)
#: Those that may pass through an editor.
TEXTS = tuple(kind for kind in KINDS if kind.name != "oha.db")


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, whose folder may be missing, and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path

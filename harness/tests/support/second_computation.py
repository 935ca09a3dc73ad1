# SPDX-License-Identifier: Apache-2.0
"""A second computation of ratios that abstract and README print, from bundled archives and by no code of the harness.

``python -m harness.tests.support.second_computation`` takes from a build only the names of the trials behind a number.
Requests come from what wrk and JMeter printed, CPU time from the counter that the service itself publishes before and
after the load, latencies from metronome's counts, memory, first answers and windows of the warm-up from the records,
ratios, means over sessions and intervals from the formulas. Exit status 1: a number differs.
"""

from __future__ import annotations

import json
import lzma
import math
import re
import statistics
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from scipy import stats
from scipy.optimize import brentq

ROOT = Path(__file__).resolve().parents[3]
BUILT = ROOT / "paper" / "generated" / "values.json"
#: Question's key of a ratio -> metric. Every variant below it is computed.
RATIOS = {
    "strings_warm.throughput.ratio.": "throughput", "strings_warm.cpu.ratio.": "cpu",
    "clients_warm.throughput.ratio.": "throughput", "clients_warm.cpu.ratio.": "cpu", "bank_warm.cpu.ratio.": "cpu at equal speed",
    "strings_warm.memory.ratio.": "memory", "clients_warm.memory.ratio.": "memory", "bank_warm.memory.ratio.": "memory",
    "strings_warm.first.ratio.": "first", "strings_pair.cpu.ratio.": "cpu", "strings_ladder.cpu.ratio.": "cpu at equal speed",
    "strings_ends.throughput.ratio.": "throughput at equal speed", "strings_ages.warm.ratio.": "throughput at equal speed",
    "strings_surface.throughput.ratio.": "throughput at equal speed",
    "strings_then_now.article.ratio.": "throughput by JMeter", "strings_then_now.warm.ratio.": "throughput at equal speed",
    "strings_then_log.article_log.ratio.": "throughput by JMeter", "strings_then_log.warm_log.ratio.": "throughput at equal speed",
    "strings_latency.p50_40.ratio.": "latency p50", "strings_latency.p50_80.ratio.": "latency p50",
    "strings_latency.p90_40.ratio.": "latency p90", "clients_latency.p90_40.ratio.": "latency p90",
    "clients_latency.p50_20.ratio.": "latency p50", "clients_latency.p50_40.ratio.": "latency p50",
    "bank_latency.p50_20.ratio.": "latency p50", "bank_latency.p50_40.ratio.": "latency p50",
}  # fmt: skip
#: Else a hundredth: JMeter's start and the service's counter are some milliseconds beside the load. Of medians of some
#: forty microseconds the bundle has counts in whole ones.
TOLERANCE = {"throughput": 0.001, "latency p50": 0.02}
_REQUESTS = re.compile(rb"(\d+) requests in")
_RATE = re.compile(rb"Requests/sec:\s+([\d.]+)")
#: In milliseconds since the epoch, of "Starting standalone test @" and of "Tidying up ... @".
_STAMP = re.compile(rb"@ .*\((\d+)\)")
_CPU = re.compile(rb"^process_cpu_seconds_total(?:\{[^}]*\})? (\S+)", re.MULTILINE)


@cache
def archive(experiment: str, session: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the plan of a bundled session, and its text files by name."""
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(ROOT / "data" / "raw" / "bundled" / experiment / f"{session}.zip") as packed:
        plan = json.loads(packed.read("session.json"))["plan"]
        for block in json.loads(lzma.decompress(packed.read(".packed/contents.json.xz")))["blocks"]:
            if block.get("columns"):
                continue
            content, start = lzma.decompress(packed.read(block["entry"])), 0
            for file in block["files"]:
                files[file["name"]] = content[start : start + file["bytes"]]
                start += file["bytes"]
    return plan, files


def time_until_warm(warm_up: dict[str, Any]) -> float:
    """Return when the first window began that, alone and in the median of three, is within a tenth of the last ones."""
    rates = [(w["n_requests"] - w["n_errors"]) / w["duration_s"] for w in warm_up["windows"]]
    least = 0.9 * statistics.median(rates[-warm_up["spec"]["n_windows"] :])
    near = [min(rate, statistics.median(rates[at : at + 3])) >= least for at, rate in enumerate(rates)]
    return float(warm_up["windows"][near.index(True)]["start_s"])


def memory_of(record: dict[str, Any]) -> int:
    """Return the resident bytes after the load."""
    return next(int(b["reading"]["rss_bytes"]) for b in record["boundaries"] if b["name"] == "after-load")


#: Metric -> its value in the record of a trial.
OF_RECORD: dict[str, Callable[[dict[str, Any]], float]] = {
    "memory": memory_of,
    "first": lambda record: float(record["start_up"]["time_to_first_response_s"]),
    "until warm": lambda record: time_until_warm(record["warm_up"]),
}


def value_of(trial: str, metric: str) -> float:
    """Return requests per second, CPU seconds per request, bytes of memory, or in seconds a latency, the time to the first
    answer or until warm, of a trial, ``bundled/experiment/session/trial``."""
    _, experiment, session, name = trial.split("/")
    files = archive(experiment, session)[1]
    if metric in OF_RECORD:
        return OF_RECORD[metric](json.loads(files[f"{name}/record.json"]))
    if metric.startswith("latency p"):
        path = f"{name}/load/latencies.csv"  # a small one is not compressed
        return quantile_of(files[path] if path in files else files[f"{path}.gz"], int(metric[-2:]) / 100)
    texts = (f"{name}/load/generator.stdout.txt", f"{name}/load/wrk2.txt.gz")
    printed = next(files[path] for path in texts if path in files)
    of_load = (experiment, session, load_of(trial), metric.split(maxsplit=1)[0])
    factor = moves(*of_load)[name] if metric.endswith("at equal speed") else 1.0
    if metric.startswith("throughput"):
        by_wrk = _RATE.findall(printed)
        rate = float(by_wrk[-1]) if by_wrk else rate_of_jmeter(printed, files[f"{name}/load/seconds.csv"])
        return rate * factor
    ends = [float(_CPU.findall(files[f"{name}/boundary-{at}-load.prom.gz"])[0]) for at in ("before", "after")]
    return (ends[1] - ends[0]) / int(_REQUESTS.findall(printed)[-1]) * factor


def rate_of_jmeter(printed: bytes, seconds: bytes) -> float:
    """Return right answers per second between the moments at which JMeter printed that it began and that it ended."""
    begin_ms, end_ms = (int(stamp) for stamp in _STAMP.findall(printed)[:2])
    counted = [line.split(b",") for line in seconds.split()[1:]]
    return 1000 * sum(int(n) - int(n_errors) for _, n, n_errors in counted) / (end_ms - begin_ms)


def quantile_of(counted: bytes, q: float) -> float:
    """Return the least latency that is exceeded by no more than a share 1 - ``q`` of the right answers, in seconds, from
    lines of latency and number in ascending order."""
    rows = [line.split(b",") for line in counted.splitlines()[1:]]
    upto = list(accumulate(int(n) for _, n in rows))
    return next(float(row[0]) for row, n in zip(rows, upto, strict=True) if n >= q * upto[-1])


@cache
def moves(experiment: str, session: str, load_name: str, metric: str) -> dict[str, float]:
    """Return trial -> factor that moves its throughput or CPU time to the session's usual speed, by least squares within
    variants and levels."""
    plan, files = archive(experiment, session)
    steps, arms = {}, defaultdict(list)
    for one in plan["trials"]:
        name, cell = one["trial_id"], one["configuration"]
        if cell["load_name"] != load_name:
            continue
        record = json.loads(files[f"{name}/record.json"])
        speeds = {speed["cpu"]: speed["step_ns_mean"] for speed in record.get("cpu_speeds", ())}
        cpus = record["instance"]["cpu_affinity"]
        steps[name] = math.log(statistics.fmean(speeds.get(cpu, 1) for cpu in cpus))
        used = {boundary["name"]: boundary["reading"]["cpu_s"] for boundary in record["boundaries"]}
        if not name.endswith("-aa"):
            load = record["load"]
            cpu_s = (used["after-load"] - used["before-load"]) / load["n_requests"]
            value = cpu_s if metric == "cpu" else load["achieved_per_s"]
            arms[cell["variant_name"], *sorted(cell["levels"].items())].append((steps[name], math.log(value)))
    within = [
        (step - statistics.fmean(s for s, _ in arm), value - statistics.fmean(v for _, v in arm))
        for arm in arms.values() for step, value in arm
    ]  # fmt: skip
    slope = sum(step * value for step, value in within) / (sum(step**2 for step, _ in within) or 1)
    usual = statistics.median(step for arm in arms.values() for step, _ in arm)
    return {name: math.exp(-slope * (step - usual)) for name, step in steps.items()}


def counts_cpu(trial: str) -> bool:
    """Tell whether the service of a trial publishes its CPU time."""
    _, experiment, session, name = trial.split("/")
    return bool(_CPU.search(archive(experiment, session)[1][f"{name}/boundary-after-load.prom.gz"]))


def plan_of(trial: str) -> dict[str, Any]:
    """Return what the plan of its session says of a trial."""
    _, experiment, session, name = trial.split("/")
    return dict(next(t for t in archive(experiment, session)[0]["trials"] if t["trial_id"] == name))


def load_of(trial: str) -> str:
    """Return the name of the load of a trial."""
    return str(plan_of(trial)["configuration"]["load_name"])


def mean_of(logs: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean and the ends of its 95 % interval, by Student's t, from logarithms."""
    mean = statistics.fmean(logs)
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def ratio_of(inputs: list[str], variant: str, reference: str, metric: str) -> tuple[float, float, float]:
    """Return a ratio and the ends of its interval: the mean of the logarithms over blocks."""
    values: dict[int, dict[str, float]] = {}
    for trial in inputs:
        plan = plan_of(trial)
        values.setdefault(plan["block"], {})[plan["configuration"]["variant_name"]] = value_of(trial, metric)
    return mean_of([math.log(arms[variant] / arms[reference]) for arms in values.values() if len(arms) == 2])


def over_sessions(inputs: list[str]) -> dict[str, tuple[float, ...]]:
    """Return the mean CPU ratio of Java over Go with its interval (Paule and Mandel, Hartung and Knapp), and the one of
    another session with Student's; a session in which all trials count is at its usual speed."""
    sessions: dict[tuple[str, str], list[str]] = defaultdict(list)
    rows: list[tuple[float, float]] = []
    for trial in inputs:
        _, experiment, session, _ = trial.split("/")
        sessions[experiment, session].append(trial)
    for (experiment, session), trials in sessions.items():
        arms = {trial.rsplit("/", 1)[1].split("-", 1)[1] for trial in trials}
        java, go = sorted(arms, key=lambda arm: arm[:3] == "go-")
        plan, load = archive(experiment, session)[0]["trials"], load_of(trials[0])
        alike = [t["configuration"] for t in plan if not t["trial_id"].endswith("-aa")]
        n = sum(one["variant_name"] in (java, go) and one["load_name"] == load for one in alike)
        value, low, high = ratio_of(trials, java, go, "cpu" if len(trials) < n else "cpu at equal speed")
        rows.append((math.log(value), math.log(high / low) / 2 / stats.t.ppf(0.975, len(trials) // 2 - 1)))
    logs, k = [log for log, _ in rows], len(rows)

    def squares(tau2: float) -> tuple[float, float, float]:
        weights = [1 / (error**2 + tau2) for _, error in rows]
        mean = sum(w * log for w, log in zip(weights, logs, strict=True)) / sum(weights)
        return mean, sum(weights), sum(w * (log - mean) ** 2 for w, log in zip(weights, logs, strict=True))

    tau2 = brentq(lambda tau2: squares(tau2)[2] - (k - 1), 0, 10) if squares(0)[2] > k - 1 else 0.0
    mean, total, spread = squares(tau2)
    t = float(stats.t.ppf(0.975, k - 1))
    between = mean, t * math.sqrt(max(1, spread / (k - 1)) / total)
    predicted = statistics.fmean(logs), t * statistics.stdev(logs) * math.sqrt(1 + 1 / k)
    ends = {"between": between, "predicted": predicted}.items()
    return {name: tuple(math.exp(log + sign * half) for sign in (0, -1, 1)) for name, (log, half) in ends}


def results(built: dict[str, Any]) -> Iterator[tuple[str, tuple[float, ...], float]]:
    """Yield the key of a published number, its value and both ends by the second computation, and the tolerance."""
    for key, entry in built.items():
        if "_sessions.cpu." in key and entry["kind"] in ("between", "predicted"):
            yield key, over_sessions(entry["inputs"])[entry["kind"]], 0.01
        elif key.startswith("strings_warm.cold.mean.java_") and entry["low"] is not None:
            yield key, mean_of([math.log(value_of(trial, "until warm")) for trial in entry["inputs"]]), 0.001
    for prefix, metric in RATIOS.items():
        for key, entry in built.items():
            if not key.startswith(prefix) or not entry["inputs"] or entry["low"] is None:
                continue
            arms = {t.rsplit("/", 1)[1].split("-", 1)[1] for t in entry["inputs"]}
            variant = next((arm for arm in arms if arm.replace("-", "_") == key.rsplit(".", 1)[1]), None)
            if variant is None or len(arms) != 2 or any(arm.endswith("-aa") for arm in arms):
                continue
            if metric.startswith("cpu") and not all(map(counts_cpu, entry["inputs"])):
                continue  # a native image publishes no such counter
            computed = ratio_of(entry["inputs"], variant, (arms - {variant}).pop(), metric)
            yield key, computed, TOLERANCE.get(metric, 0.01)


def differences() -> Iterator[tuple[str, float, float, float]]:
    """Yield key, published number, second computation and tolerance, of values and both ends."""
    built = json.loads(BUILT.read_text("utf-8"))
    for key, computed, tolerance in results(built):
        for end, second in zip(("value", "low", "high"), computed, strict=True):
            yield f"{key} {end}", built[key][end], second, tolerance


def main() -> int:
    """Print each number beside its second computation; return 1 where one differs or there is none."""
    n = n_wrong = 0
    for key, published, second, tolerance in differences():
        wrong = abs(second / published - 1) > tolerance
        n, n_wrong = n + 1, n_wrong + wrong
        print(f"{'DIFFERS' if wrong else 'equal  '} {key}: {published:.5g}, second computation {second:.5g}")
    print(f"{n} numbers, {n_wrong} differ")
    return int(n == 0 or n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""``rematch report FILE --gc LOG``: the peaks are explained by the log of the process that answered, in whatever form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.tests.support import log_forms
from harness.tests.support.command import run_here
from harness.tests.support.result_files import write

STARTED = ("--process-start", f"{log_forms.START_S:.0f}")
#: Pauses of another process that were at about the same uptimes.
OTHERS = tuple((end_s + 0.7, length_s) for end_s, length_s in log_forms.PAUSES)


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 requests a second for 50 s; whoever meets a pause waits for its end."""
    start = np.arange(0.5, 50.5, 0.004)
    latency = 0.004 + 0.001 * np.random.default_rng(4).integers(0, 3, len(start))
    for end_s, length_s in log_forms.PAUSES:
        met = (start < end_s) & (start + latency > end_s - length_s)
        latency[met] += end_s - np.maximum(start[met], end_s - length_s)
    rows = [
        f"{(log_forms.START_S + at_s) * 1e3:.0f},{took_s * 1e3:.0f},GET /item,200,true"
        for at_s, took_s in zip(start.tolist(), latency.tolist(), strict=True)
    ]
    path = tmp_path_factory.mktemp("requests") / "results.jtl"
    path.write_text("timeStamp,elapsed,label,responseCode,success\n" + "\n".join(rows) + "\n")
    return path


def reported(requests: Path, *arguments: object) -> dict[str, Any]:
    code, out, err = run_here(requests.parent, "report", str(requests), "--json", *map(str, arguments))
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def explained(report: dict[str, Any]) -> float:
    """What pauses explain of the time that the slowest requests took beyond the median."""
    value: float = report["attribution"]["p99"]["causes"].get("gc_pause", {"value": 0.0})["value"]
    return value


#: Some of many: `formats/test_log_forms.py` has all.
FORMS: dict[str, Callable[[], str]] = {
    "JVM, docker compose": lambda: log_forms.carried(
        log_forms.jvm_lines(decorators=log_forms.uptime), "docker compose"
    ),
    "Go, docker compose": lambda: log_forms.carried(log_forms.go_lines(), "docker compose"),
    "JVM, wall clock and uptime": lambda: log_forms.text_of(log_forms.jvm_lines()),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_pauses_of_a_log_in_any_form_explain_the_peaks(requests: Path, tmp_path: Path, form: str) -> None:
    report = reported(requests, "--gc", write(tmp_path / "gc.log", FORMS[form]()), *STARTED)
    assert explained(report) > 0.95
    assert [stall["cause"] for stall in report["stalls"]] == ["gc_pause"] * len(log_forms.PAUSES)
    assert abs(report["attribution"]["clock_offset_s"]) < 0.01
    n = (2 if form.startswith("Go") else 1) * len(log_forms.PAUSES)
    assert any(f"{n} pauses, together 1.08 s" in said for said in report["warnings"])


def at(started_s: float) -> Callable[[float], str]:
    return lambda at_s: f"[{log_forms.stamp(started_s + at_s)}+0000][{at_s:.3f}s]"


def by_turns(*logs: list[log_forms.Line]) -> str:
    return log_forms.text_of(sorted((line for log in logs for line in log), key=lambda one: one[0]))


def of_service(lines: list[log_forms.Line], name: str) -> list[log_forms.Line]:
    return [(at_s, f"{name}  | {line}") for at_s, line in lines]


def test_services_that_ran_at_the_same_time_are_not_laid_over(requests: Path, tmp_path: Path) -> None:
    shop = of_service(log_forms.jvm_lines(), "shop-1")
    cart = of_service(log_forms.jvm_lines(OTHERS), "cart-1")
    report = reported(requests, "--gc", write(tmp_path / "gc.log", by_turns(shop, cart)))
    assert "at the same time (shop-1  | and cart-1  |)" in report["attribution"]["refused"]
    # one that had ended before is no hindrance
    gone = of_service(log_forms.jvm_lines(OTHERS, at(log_forms.START_S - 900)), "cart-1")
    assert (
        explained(reported(requests, "--gc", write(tmp_path / "gc.log", log_forms.text_of([*gone, *shop]))))
        > 0.95
    )


@pytest.mark.parametrize(
    ("text", "says", "never_says"),
    [
        (log_forms.text_of(log_forms.jvm_lines(decorators=log_forms.uptime)), "-Xlog:", "gctrace"),
        (log_forms.text_of(log_forms.go_lines()), "--process-start", "-Xlog"),
    ],
    ids=["JVM", "Go"],
)
def test_advice_fits_a_runtime(requests: Path, tmp_path: Path, text: str, says: str, never_says: str) -> None:
    refused = reported(requests, "--gc", write(tmp_path / "gc.log", text))["attribution"]["refused"]
    assert "--process-start" in refused and says in refused and never_says not in refused

# SPDX-License-Identifier: Apache-2.0
"""How many CPUs a runtime goes by: what real logs and real metrics of several releases say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness.formats.runtime_cpus import GOMAXPROCS, go_cpus, jvm_cpus
from harness.model import RuntimeCpus

GOLDEN = Path(__file__).parents[1] / "golden"
#: That log has no lines of the JVM's start, but for the collector.
WITHOUT_START = "jdk25-G1-default"
#: These have other parts of a log alone: a decimal comma, minor collections, releases that say nothing of processors.
OTHERS = (WITHOUT_START, "jdk11-", "-Z-minor-nosafepoint")
LOGS = [
    log
    for log in sorted((GOLDEN / "jvm_log").glob("*.log.gz"))
    if not any(name in log.name for name in OTHERS)
]


def text_of(log: Path) -> str:
    return gzip.decompress(log.read_bytes()).decode()


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_every_jvm_and_collector_says_processors_and_its_name_at_its_start(log: Path) -> None:
    found = jvm_cpus(text_of(log))
    assert found == RuntimeCpus(cpus=2, collector=log.name.split("-")[1].split(".")[0], said_in="GC log")


def test_what_is_available_counts_not_what_the_machine_has() -> None:
    limited = text_of(LOGS[0]).replace("2 total, 2 available", "2 total, 1 available")
    assert jvm_cpus(limited).cpus == 1


def test_a_log_that_names_the_collector_alone_says_no_number() -> None:
    found = jvm_cpus(text_of(GOLDEN / "jvm_log" / f"{WITHOUT_START}.log.gz"))
    assert (found.cpus, found.collector) == (None, "G1")
    assert found.why_not == "the GC log does not say how many"


@pytest.mark.parametrize(
    "text", ["", "CPUs: 2 total, 1 available", "[0.1s][info][other] CPUs: 2 total, 1 available"]
)
def test_a_text_without_that_line_of_a_jvm_says_nothing(text: str) -> None:
    assert jvm_cpus(text) == RuntimeCpus(why_not="the GC log does not say")


@pytest.mark.parametrize("name", ["go1.21-collector", "go1.24-collector", "go1.26-nethttp"])
def test_gomaxprocs_of_every_release_is_read_from_its_metrics(name: str) -> None:
    metrics = (GOLDEN / "runtime_metrics" / f"{name}.txt").read_text()
    assert go_cpus(metrics) == RuntimeCpus(cpus=2, said_in=f"/metrics: {GOMAXPROCS}")


@pytest.mark.parametrize(
    "metrics", ["", "http_requests_total 3\n", f"{GOMAXPROCS} NaN\n", f"{GOMAXPROCS} 0\n"]
)
def test_metrics_without_it_are_no_zero(metrics: str) -> None:
    found = go_cpus(metrics)
    assert found.cpus is None and found.why_not == f"/metrics has no {GOMAXPROCS}"

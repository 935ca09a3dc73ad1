# SPDX-License-Identifier: Apache-2.0
"""How many CPUs a runtime goes by: what real logs and real metrics of several releases say."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from harness.formats.counters import GOMAXPROCS, go_cpus, jvm_cpus
from harness.model import RuntimeCpus

GOLDEN = Path(__file__).parents[1] / "golden"
LOGS = sorted((GOLDEN / "jvm_log").glob("*.log.gz"))
#: Releases before JDK 17 do not write the number; ``-Xlog:gc`` without the star leaves its line out.
WITHOUT_NUMBER = {
    "jdk11-G1", "jdk11-Serial-comma", "jdk21-Z-minor-nosafepoint", "jdk25-Z-minor-nosafepoint", "jdk25-G1-default",
}  # fmt: skip
DOES_NOT_SAY = "the GC log does not say how many"


def text_of(log: Path) -> str:
    return gzip.decompress(log.read_bytes()).decode()


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_every_jvm_and_collector_says_its_name_and_under_all_tags_its_processors(log: Path) -> None:
    name = log.name.removesuffix(".log.gz")
    silent = name in WITHOUT_NUMBER
    assert jvm_cpus(text_of(log)) == RuntimeCpus(
        cpus=None if silent else 2,
        collector=name.split("-")[1],
        said_in="GC log",
        why_not=DOES_NOT_SAY if silent else None,
    )


def test_no_log_without_a_number_says_it_in_other_words() -> None:
    assert {log.name.removesuffix(".log.gz") for log in LOGS} > WITHOUT_NUMBER
    for name in WITHOUT_NUMBER:
        text = text_of(GOLDEN / "jvm_log" / f"{name}.log.gz")
        assert re.search("CPUs|processor", text, re.IGNORECASE) is None


def test_what_is_available_counts_not_what_the_machine_has() -> None:
    text = text_of(GOLDEN / "jvm_log" / "jdk17-G1.log.gz")
    assert jvm_cpus(text.replace("2 total, 2 available", "2 total, 1 available")).cpus == 1


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

# SPDX-License-Identifier: Apache-2.0
"""Faults that changed files have shown: each stays mended."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from harness.agent.cgroup import (
    group_folders,
    longest_throttling,
    parse_cpu_stat,
    read_folders,
    text_of,
    throttling_folders,
    whole_number,
)
from harness.definitions import load_requests, strict_files
from harness.errors import InputError
from harness.formats.jfr_json import parse_contention, parse_jfr_json
from harness.formats.row_files import read_oha_db
from harness.formats.runtime_metrics import parse_nmt, parse_runtime_metrics
from harness.formats.wrk_text import read_wrk
from harness.hosts.ssh.settings import host_names
from harness.workloads import load_cases

DIGITS = "9" * 5000
DEEP = "[" * 100_000


@pytest.mark.parametrize("text", [f"a = {DIGITS}", f"a = {DEEP}", "a." * 20_000 + "b = 1"])
def test_toml_that_is_too_deep_or_has_thousands_of_digits_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"a\.toml"):
        strict_files.toml_of(strict_files.text_of(file), file)


@pytest.mark.parametrize(
    "text", ["hosts = 3", "hosts = [1]", "[hosts]\na = 3", f"a = {DIGITS}", f"a = {DEEP}", "a = \0"]
)
def test_a_hosts_file_without_hosts_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text(text)
    with pytest.raises(InputError, match=r"hosts\.toml"):
        host_names(tmp_path)


@pytest.mark.parametrize("data", [b"\xff\xfe", DEEP.encode(), b'{"mix":' + DIGITS.encode() + b"}"])
def test_requests_and_cases_that_are_no_json_are_refused_with_their_line(data: bytes, tmp_path: Path) -> None:
    contract = tmp_path / "services/a/contract"
    contract.mkdir(parents=True)
    for name in ("requests.jsonl", "cases.jsonl"):
        (contract / name).write_bytes(data)
    with pytest.raises(InputError, match=r"requests\.jsonl"):
        load_requests(tmp_path, "a")
    with pytest.raises(InputError, match=r"cases\.jsonl"):
        load_cases(contract)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e400"])
def test_a_count_of_a_runtime_that_is_no_number_is_a_line_that_cannot_be_read(value: str) -> None:
    names = (
        "go_gc_cycles_total_gc_cycles_total",
        "go_gc_duration_seconds_count",
        "go_memory_classes_total_bytes",
    )
    found = parse_runtime_metrics("".join(f"{name} {value}\n" for name in names))
    assert (found.n_collections, found.last_collection, found.memory_classes_bytes) == (None, None, {})


@pytest.mark.parametrize(
    ("there", "put"),
    [(b"CREATE TABLE", b"CREATE\xff\xfeABLE"), (b"tableoha", b"tableoh\xff"), (b"duration", b"durati\xff\n")],
)
def test_a_schema_of_oha_that_is_not_utf_8_is_refused_in_one_line(
    there: bytes, put: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE oha (start, start_latency_correction, duration, status)")
    connection.close()
    data = file.read_bytes()
    assert data.count(there) == 1
    file.write_bytes(data.replace(there, put))
    with pytest.raises(InputError, match=r"a\.db: cannot be read as oha's") as refused:
        read_oha_db(file)
    assert refused.value.exit_code == 2 and "\n" not in str(refused.value)
    file.write_bytes(data)
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO oha VALUES ('x', NULL, 'y', 'z')")
    connection.close()
    with pytest.raises(InputError, match=r"a\.db"):
        read_oha_db(file)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2 3",
        "1 2 0:3 / /sys/fs/cgroup rw -",
        " - cgroup2",
        "1 2 0:3 / /a\0b rw - cgroup2 x rw",
        "\xff - \n",
    ],
)
@pytest.mark.parametrize(
    "groups", ["", "0", "0::", "::", "0::/../../..", "0::/" + "a" * 5000, "0::/a\0b", "\N{SUPERSCRIPT TWO}"]
)
def test_broken_files_of_control_groups_give_nothing_and_end_nothing(
    text: str, groups: str, tmp_path: Path
) -> None:
    for name, content in (
        ("proc/self/mountinfo", text),
        ("proc/self/cgroup", groups),
        ("proc/1/cgroup", groups),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, errors="replace")
    longest_throttling(text_of(group / "cpu.stat") for group in throttling_folders(tmp_path))
    read_folders(group_folders(1, tmp_path), rss_bytes=None, process_cpu_s=None)


@pytest.mark.parametrize(
    "text", ["\N{SUPERSCRIPT TWO}", DIGITS, "-1", "", "1.5", "\N{ARABIC-INDIC DIGIT THREE}"]
)
def test_a_counter_of_the_kernel_is_digits(text: str) -> None:
    assert whole_number(text) is None
    assert parse_cpu_stat(f"nr_throttled {text}\nthrottled_usec {text}") is None


@pytest.mark.parametrize(
    "event",
    [
        '{"type":"jdk.GarbageCollection","values":{"startTime":"2026-01-01T00:00:00Z","gcId":1e400}}',
        '{"type":"jdk.GCPhasePause","values":{"startTime":"2026-01-01T00:00:00Z","duration":"PT1E400S"}}',
    ],
)
def test_a_recording_with_an_infinite_number_costs_its_own_event(event: str) -> None:
    event = event.replace("1E400", "9" * 400)
    assert parse_jfr_json('{"recording":{"events":[' + event + "]}}").log.n_unknown == 1


def test_native_memory_and_waits_with_thousands_of_digits_are_refused() -> None:
    with pytest.raises(InputError, match="no total"):
        parse_nmt(f"Total: reserved={DIGITS}KB, committed=1KB")
    for number in ("1.2.3", DIGITS, "1,,,.5."):
        with pytest.raises(InputError):
            parse_contention(f"Contention by Lock Class\n----\na.B 1 {number} ms 1 ms 1 ms\n")


WRK = """Running 3s test @ http://127.0.0.1:1/hello
  2 threads and 20 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     {latency}us    2.56ms  20.10ms   82.74%
  10 requests in {seconds}s, 20.34MB read
Requests/sec:  {rate}
"""


@pytest.mark.parametrize("number", ["latency", "seconds", "rate"])
def test_a_summary_of_wrk_with_hundreds_of_digits_is_refused_in_one_short_line(
    number: str, tmp_path: Path
) -> None:
    file = tmp_path / "wrk.txt"
    file.write_text(WRK.format(**({"latency": "1.68", "seconds": "3.10", "rate": "3.2"} | {number: DIGITS})))
    with pytest.raises(InputError, match=r"wrk\.txt") as refused:
        read_wrk(file)
    assert len(str(refused.value)) < 400 + len(str(tmp_path))

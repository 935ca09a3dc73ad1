# SPDX-License-Identifier: Apache-2.0
"""Every format that docs/report.md promises, with every command and option: a right number, or one line and status 2."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.project import find_root
from harness.report.audit.auditing import audit_file
from harness.report.audit.laws import Check, Plan
from harness.report.compare.comparing import compare_files
from harness.report.result import Report
from harness.tests.support.command import run_here
from harness.tests.support.generated_jtl import report_file
from harness.tests.support.result_files import KINDS, TEXTS, Kind, requests, write

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
every_text = pytest.mark.parametrize("kind", TEXTS, ids=lambda kind: kind.name)
MADE = requests(60, failed=3)


def test_each_tool_of_the_page_has_a_file_here() -> None:
    page = (find_root() / "docs" / "report.md").read_text("utf-8")
    table = page.split("## Input files")[1].split("\n\n")[1]
    tools = {name.strip() for row in table.splitlines()[2:] for name in row.split("|")[1].split(",")}
    known = {"JMeter": "results.jtl", "Locust": "run_stats.csv", "k6": "k6.csv", "oha": "oha.csv", "vegeta": "vegeta.csv",
             "metronome": "metronome.csv", "wrk": "wrk.txt", "wrk2": "wrk2.txt", "Gatling": "simulation.log", "hey": "hey.csv",
             "autocannon": "autocannon.json", "any other": "other.csv"}  # fmt: skip
    assert tools == set(known) and set(known.values()) <= {kind.name for kind in KINDS}


@every_kind
def test_the_numbers_are_those_of_the_requests(kind: Kind, tmp_path: Path) -> None:
    report = report_file(write(tmp_path / kind.name, kind.data(MADE)))
    assert (report.requests, report.errors, report.unreadable) == (MADE.n, MADE.n_errors, 0)
    mean_ms = report.latency_ms["mean"]
    if kind.exact:
        assert mean_ms == pytest.approx(MADE.mean_ms(of_all=kind.of_all), rel=1e-5)
    if kind.has_rows:
        assert report.throughput_per_s == pytest.approx(MADE.n / MADE.duration_s, rel=1e-3)


def _crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


CHANGES: dict[str, Callable[[str], bytes]] = {
    "CRLF": _crlf,
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 and CRLF": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "a blank first line": lambda text: b"\n" + text.encode(),
    "blank lines with blanks": lambda text: b"  \r\n\r\n" + text.encode(),
    "lines of another program": lambda text: b"starting 2 workers\nlistening on :8080\n" + text.encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
}


@cache
def _untouched(kind: Kind, folder: Path) -> tuple[Path, Report, tuple[Check, ...]]:
    """A file as it was written, what is reported of it and what an audit says."""
    path = write(folder / kind.name.partition(".")[0] / kind.name, kind.data(MADE))
    return path, report_file(path), audit_file(path, Plan()).checks


@every_text
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_passed_through_other_hands_gives_the_same_numbers(
    kind: Kind, change: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    untouched, plain, checks = _untouched(kind, tmp_path_factory.getbasetemp())
    path = tmp_path / kind.name
    path.write_bytes(CHANGES[change](kind.data(MADE).decode()))
    changed = report_file(path)
    same = ("requests", "errors", "unreadable", "throughput_per_s", "latency_ms", "labels", "errors_by_kind")
    assert {name: getattr(changed, name) for name in same} == {name: getattr(plain, name) for name in same}
    assert audit_file(path, Plan()).checks == checks
    compared = compare_files([str(path)], [str(untouched)])
    assert {row.ratio for row in compared.rows} <= {None, 1.0} and compared.row("mean") is not None
    if change == "lines of another program":
        assert any("left out: 2 lines before line 3" in said for said in changed.warnings)


ARGUMENTS: dict[str, tuple[str, ...]] = {
    "text": (), "--json": ("--json",), "--html": ("--html", "page.html"), "--skip": ("--skip", "200ms"),
    "--from --to": ("--from", "200ms", "--to", "800ms"), "--percentiles": ("--percentiles", "50,99.5"),
    "--gc": ("--gc", "gc.log"), "--fail-if": ("--fail-if", "p50 > 10s", "--fail-if", "errors > 50%"),
}  # fmt: skip
SIZES = {"some": MADE, "none": requests(0), "one": requests(1), "all failed": requests(30, failed=30)}


def assert_answered(code: int, out: str, err: str) -> None:
    """A number, or one line of ours; never a traceback, and never what is no number."""
    assert "Traceback" not in err and not re.search(r"\bnan\b|\binf\b|-\d+ answers/s", out)
    if code in {0, 1}:  # 1: a limit is exceeded
        assert out and not err
    else:
        assert code == 2 and err.startswith("rematch: ") and err.count("\n") == 1, (code, err)


@every_kind
@pytest.mark.parametrize("option", ARGUMENTS)
def test_every_option_of_report_answers_or_refuses(kind: Kind, option: str, tmp_path: Path) -> None:
    (tmp_path / "gc.log").write_text("[2025-11-28T10:30:00.100+0000][0.100s][info][gc] GC(0) Pause Young (Normal) 1M->1M(9M) 4.000ms\n")  # fmt: skip
    for size, made in SIZES.items():
        path = write(tmp_path / kind.name, kind.data(made))
        code, out, err = run_here(tmp_path, "report", path.name, *ARGUMENTS[option])
        if code == 2 and out and option == "--fail-if":  # printed first, then: a limit cannot be judged
            out, code = "", 2
        assert_answered(code, out, err)
        if size == "some" and (kind.has_rows or option not in {"--skip", "--from --to"}):
            assert code == 0 or "not recognised" not in err, (size, err)
            assert code == 0 or option == "--fail-if", (size, err)
        if made.n == 0:
            assert code == 2 and "request" in err, (size, err)


@every_kind
def test_every_kind_goes_through_label_compare_and_audit(kind: Kind, tmp_path: Path) -> None:
    for size, made in SIZES.items():
        path = write(tmp_path / kind.name, kind.data(made))
        label = {"simulation.log": "buy", "results.jtl": "GET /a", "run_stats.csv": "GET /a"}.get(
            kind.name, "a"
        )
        if kind.name.startswith("vegeta"):
            label = "http://127.0.0.1/a"
        code, out, err = run_here(tmp_path, "report", path.name, "--label", label, "--json")
        assert_answered(code, out, err)
        if kind.has_labels and made.n:
            assert code == 0 and json.loads(out)["requests"] == made.n
        code, out, err = run_here(tmp_path, "audit", path.name)
        assert_answered(code, out, err)
        if size == "some":
            assert code == 0 and out.startswith("no contradiction")
        other = tmp_path / f"other-{kind.name}"
        other.write_bytes(kind.data(requests(made.n, seed=2) if made.n else made))
        code, out, err = run_here(tmp_path, "compare", path.name, "--", other.name, "--json")
        assert_answered(code, out, err)
        assert (code == 0) == (made.n > 0), err


def test_two_results_in_one_file_are_never_one_of_them(tmp_path: Path) -> None:
    for kind in TEXTS:
        path = tmp_path / kind.name
        path.write_bytes(kind.data(MADE) * 2)
        try:
            report = report_file(path)
        except InputError as problem:
            assert "holds" in str(problem) and str(path) in str(problem)
            continue
        assert kind.has_rows and report.requests == 2 * MADE.n  # at once: one run of two generators
        if report.start_epoch_s is None:
            assert len(report.runs) == 2 and report.throughput_per_s is None
        else:
            assert report.throughput_per_s == pytest.approx(2 * MADE.n / MADE.duration_s, rel=1e-3)


@every_kind
def test_a_file_cut_anywhere_is_read_or_refused(kind: Kind, tmp_path: Path) -> None:
    data = kind.data(MADE)
    for cut in range(0, len(data), max(1, len(data) // 25)):
        path = tmp_path / kind.name
        path.write_bytes(data[:cut])
        try:
            report = report_file(path)
        except InputError as problem:
            assert str(path) in str(problem) and "\n" not in str(problem)
        else:
            assert 0 <= report.errors <= report.requests <= MADE.n


def _tar(data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("results.jtl")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _zip(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("results.jtl", data)
    return packed.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "zip": _zip, "tar": _tar, "bzip2": bz2.compress, "xz": lzma.compress,
    "gzip in gzip": lambda data: gzip.compress(gzip.compress(data)),
}  # fmt: skip


@pytest.mark.parametrize("packed", PACKED)
def test_what_is_packed_in_another_way_is_named_and_not_read(packed: str, tmp_path: Path) -> None:
    data = b"timeStamp,elapsed,success\n" + b"1764325800000,5,true\n" * 9
    (tmp_path / "results.jtl").write_bytes(PACKED[packed](data))
    calls = ("report", "results.jtl"), ("audit", "results.jtl"), ("report", "a.jtl", "--gc", "results.jtl")
    for call in calls:
        code, out, err = run_here(tmp_path, *call)
        assert (code, out) == (2, "") and f"results.jtl: is packed as {packed}; allowed: text" in err


def test_a_page_is_not_written_over_what_it_is_of(tmp_path: Path) -> None:
    path = write(tmp_path / KINDS[0].name, KINDS[0].data(MADE))
    code, out, err = run_here(tmp_path, "report", path.name, "--html", path.name)
    assert (code, out) == (2, "") and "is one of the files that are read" in err
    assert path.read_bytes() == KINDS[0].data(MADE)


def test_files_of_several_generators_are_one_run(tmp_path: Path) -> None:
    for kind in (
        one for one in KINDS if one.name in {"results.jtl", "vegeta.csv", "simulation.log", "k6.csv"}
    ):
        paths = [tmp_path / f"{n}-{kind.name}" for n in (1, 2)]
        for seed, path in enumerate(paths):
            path.write_bytes(kind.data(requests(60, seed=seed)))
        joined = "+".join(path.name for path in paths)
        code, out, _ = run_here(tmp_path, "report", joined, "--json")
        found = json.loads(out)
        assert code == 0 and found["requests"] == 120 and found["path"] == joined and not found["runs"]
        if kind.name == "results.jtl":
            assert found["loop"]["users"] in {None, 40}
    code, _, err = run_here(tmp_path, "report", f"{paths[0].name}+missing.jtl")
    assert code == 2 and "missing.jtl" in err
    code, _, err = run_here(tmp_path, "report", f"{paths[0].name}+./{paths[0].name}")
    assert code == 2 and "names a file twice" in err
    (tmp_path / "s.json").write_bytes(next(kind for kind in KINDS if kind.name == "summary.json").data(MADE))
    code, _, err = run_here(tmp_path, "report", f"s.json+{paths[0].name}")
    assert code == 2 and "cannot be merged" in err

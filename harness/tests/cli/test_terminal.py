# SPDX-License-Identifier: Apache-2.0
"""Output fits the terminal, never tells it what to do, and says in a line what makes a machine unfit."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli import verify
from harness.cli.app import at_a_limit
from harness.cli.check_here import print_missing, quiet_in_words, remarks_on
from harness.cli.list import print_overview
from harness.definitions import experiment_files, load_study
from harness.errors import printable
from harness.model import CpuSpeed
from harness.model.started import slowed_share
from harness.tests.support.available import PROJECT
from harness.tests.support.command import run_here
from harness.tests.support.generated_jtl import change_rows, write_arms
from harness.verify.page import VerifiedRow
from harness.verify.simulated import Cell, VerifyResult

#: No column of wrapped text is narrower than this.
NARROWEST = 24
TOOLS: Any = [
    {"name": "jdk", "state": "missing", "required": True, "why": "to build Java services", "how_to_get": "make setup"},
    {
        "name": "native-image", "state": "missing", "required": False, "why": "to compile ahead of time " * 2,
        "how_to_get": "a native-image on PATH " * 4,
    },
]  # fmt: skip


@pytest.fixture(params=[80, 120])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def words(text: str) -> str:
    return " ".join(text.split())


def words_that_fit(text: str, columns: int) -> str:
    assert text.strip()
    assert [line for line in text.splitlines() if len(line) > columns] == []
    return words(text)


def test_a_verification_prints_every_cell_whole(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    names = (f"error of the share of p99.9, poisson 1000/s, {n} ms, AR 0.9" for n in (30, 100))
    cells = tuple(Cell(name=name, value=0.01, at_most=0.02) for name in names)
    result = VerifyResult(
        name="attribution", bar="share error <= .02; " * 8, control="the overlap alone is wrong", cells=cells,
        sims=10, seed=1,
    )  # fmt: skip
    verify._show(VerifiedRow(result=result, wall_s=1.0, place="2 cores"))
    text = words_that_fit(capsys.readouterr().out, columns)
    assert all(cell.name in text for cell in cells)


def test_check_prints_missing_tools_with_the_step(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_missing(TOOLS)
    text = words_that_fit(capsys.readouterr().out, columns)
    assert text.index("required, not usable:") < text.index("optional, not usable:")
    for tool in TOOLS:
        assert words(f"{tool['name']} (missing): {tool['why']} install with: {tool['how_to_get']}") in text


def test_list_shows_every_title_in_a_wide_column(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    titles = {name: load_study(PROJECT, name).experiment.title for name in experiment_files(PROJECT)}
    profile = {"trials": 10_000, "expected_s": 36_000.0}
    facts = {"profiles": {"quick": profile}, "levels_unavailable": {}, "variants": {"a": "no"}}
    print_overview([{"name": name, "title": title, **facts} for name, title in titles.items()])
    out = capsys.readouterr().out
    words_that_fit(out, columns)
    place = out.splitlines()[0].index("title")
    assert columns - place >= NARROWEST
    shown = words(" ".join(line[place:] for line in out.split("\n\n")[0].splitlines()[1:]))
    assert shown == words(" ".join(titles.values()))


#: Clears a screen, gives its window another title, and turns the direction of what follows.
NAME = "y\x1b[2J\x1b]0;x\x07\x9b31m\N{RIGHT-TO-LEFT OVERRIDE}z"
OBEYED = set("\x1b\x07\x9b\N{RIGHT-TO-LEFT OVERRIDE}")
HEADER = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\0b\x7f\x9b", r"a\x00b\x7f\x9b"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}abc", r"\u202eabc"),
        ("café\tµs\n– 中", "café\tµs\n– 中"),
    ],
)
def test_what_a_terminal_obeys_is_written_out_and_all_else_stays(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_names_of_a_strangers_file_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    endings = (f"500,{NAME},u 1-1,false,", "200,OK,u 1-1,true,")
    rows = [f"{1790000000000 + 10 * i},{5 + i % 3},{NAME},{endings[i % 2]}\n" for i in range(400)]
    (tmp_path / "r.jtl").write_text(HEADER + "".join(rows), encoding="utf-8")
    text = f"timeStamp,elapsed,label,success,{NAME}\n1790000000000,no number,a,true,b\n"
    (tmp_path / "wrong.jtl").write_text(text, encoding="utf-8")
    for arm in write_arms(tmp_path):
        for path in arm.iterdir():
            change_rows(path, lambda n, row: row.update(label=NAME if n % 2 else "y"))
    for arguments, status in (("report r.jtl", 0), ("compare a -- b", 0), ("report wrong.jtl", 2)):
        code, out, err = run_here(tmp_path, *arguments.split(), columns=120)
        assert code == status and r"\x1b[2J" in out + err
        assert not OBEYED & set(out + err)


QUIET: dict[str, float | None] = {"busy_share": 0.01, "steal_share": 0.0}


def test_the_slowest_cpu_counts_and_what_could_not_be_read_is_unknown() -> None:
    speeds = [
        CpuSpeed(cpu=cpu, n_readings=50, step_ns_p05=64.0, step_ns_p50=mean, step_ns_mean=mean)
        for cpu, mean in enumerate((64.0, 80.0))
    ]
    assert slowed_share(speeds) == pytest.approx(0.25) and slowed_share([]) is None
    assert "slowed unknown" in quiet_in_words(QUIET | {"slowed_share": None})


@pytest.mark.parametrize(("slowed", "n_remarks"), [(0.27, 1), (0.04, 0), (None, 0)])
def test_a_slowed_machine_is_remarked_and_a_fast_one_not(slowed: float | None, n_remarks: int) -> None:
    remarks = remarks_on(8, False, 100_000, QUIET | {"slowed_share": slowed})
    assert len(remarks) == n_remarks
    assert all(remark.startswith("its CPUs are 27% slower than at their best") for remark in remarks)


#: The limit comes when all that a start imports is there, so that the command itself meets it.
AT_THE_LIMIT = """
import resource, sys
from harness.cli import main
sys.argv = ["rematch", "list"]
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
main()
"""


def test_a_command_without_a_further_descriptor_says_so_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_LIMIT], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "REMATCH_ROOT": str(PROJECT)},
    )  # fmt: skip
    (line,) = done.stderr.splitlines()
    assert line.startswith("rematch: ") and "Too many open files" in line and "ulimit -n" in line
    assert done.returncode == 2 and done.stdout == ""


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x"), "/x: No space left on device; free"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
        (MemoryError(), "out of memory"),
        (OSError(errno.EROFS, "Read-only file system", "/x"), "make it writable"),
        (RuntimeError("x"), None),
        (FileNotFoundError(2, "x"), None),
    ],
    ids=["disk", "processes", "threads", "memory", "read-only", "a fault of ours", "no file"],
)
def test_what_is_used_up_and_nothing_else_is_said_with_what_to_do(error: Exception, says: str | None) -> None:
    text = at_a_limit(error)
    assert (text is None) == (says is None)
    if text is not None and says is not None:
        assert says in text and "\n" not in text
        assert text.endswith("give the same command again: finished trials are kept")

# SPDX-License-Identifier: Apache-2.0
"""What stands in a stranger's file is shown on a terminal, and never tells the terminal what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import printable
from harness.tests.support.command import run_here
from harness.tests.support.compared_arms import change_rows, write_arms

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


def test_names_and_messages_of_a_result_file_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    endings = (f"500,{NAME},u 1-1,false,", "200,OK,u 1-1,true,")
    rows = [f"{1790000000000 + 10 * i},{5 + i % 3},{NAME},{endings[i % 2]}\n" for i in range(400)]
    (tmp_path / "r.jtl").write_text(HEADER + "".join(rows), encoding="utf-8")
    code, out, err = run_here(tmp_path, "report", "r.jtl", columns=120)
    assert code == 0 and r"\x1b[2J" in out
    assert not OBEYED & set(out + err)


def test_names_of_compared_files_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    for arm in write_arms(tmp_path):
        for path in arm.iterdir():
            change_rows(path, lambda n, row: row.update(label=NAME if n % 2 else "y"))
    code, out, err = run_here(tmp_path, "compare", "a", "--", "b")
    assert code == 0 and r"\x1b[2J" in out
    assert not OBEYED & set(out + err)


def test_neither_does_what_an_error_quotes_of_a_file(tmp_path: Path) -> None:
    text = f"timeStamp,elapsed,label,success,{NAME}\n1790000000000,no number,a,true,b\n"
    (tmp_path / "r.jtl").write_text(text, encoding="utf-8")
    code, out, err = run_here(tmp_path, "report", "r.jtl")
    assert code == 2 and err.count("\n") == 1 and r"\x1b[2J" in err
    assert not OBEYED & set(out + err)

# SPDX-License-Identifier: Apache-2.0
"""Damage that was a traceback once is read, or refused in one line; damage at random: ``chaos/test_readers.py``."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.runtime_log import read_runtime_log
from harness.report.output import main


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-21T41:27:48.880+0000][1.000s][info][gc] GC(0) Pause Young (Normal) 24M->4M(64M) 1.000ms",
        "gc 1 @0.0.1s 2%: 0.01+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P",
        "gc 1 @0.1s 2%: 0-1015+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P",
    ],
)
def test_a_broken_number_in_a_runtimes_log_costs_its_own_line_at_most(tmp_path: Path, line: str) -> None:
    path = tmp_path / "gc.log"
    good = "[1790000000000ms][2.000s][info][gc] GC(1) Pause Young (Normal) 24M->4M(64M) 1.000ms\n"
    path.write_text(line + "\n" + (good if line.startswith("[") else ""))
    log = read_runtime_log(path)
    assert log.events or log.n_unknown


def test_a_lone_carriage_return_in_a_header_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "r.jtl"
    path.write_bytes(b'time\rStamp,elapsed,"la\rbel",success\n1790000000000,3,a,true\n')
    with contextlib.suppress(InputError):
        main([path])
    path.write_bytes(b'"na\rme","Request Count"\n"a",3\n')
    with pytest.raises(InputError, match=r"r\.jtl"):
        main([path])

# SPDX-License-Identifier: Apache-2.0
"""The reader of a request log in the table of trials, and connections to a database."""

from __future__ import annotations

import io
from typing import Any

import pytest

from harness.analysis.tables.bound_columns import read_database
from harness.analysis.tables.tidy import read_samples
from harness.analysis.tables.trial_row import trial_row
from harness.errors import InputError
from harness.store import Store
from harness.tests.support.synthetic import ROOT


def test_the_reader_of_a_request_log_is_part_of_its_trial_and_no_noise() -> None:
    (session,) = Store(ROOT).sessions("logging", bundled=True)
    nothing: dict[str, Any] = dict.fromkeys(("requests", "echo", "damage"))
    n_read = n_noisy = 0
    for record in session.records():
        samples = read_samples(session, record)
        row = trial_row(session.header, record, source="bundled", samples=samples, **nothing)
        if not float(str(row.get("log_reader_cores") or 0)) > 0.2:
            continue
        n_read, n_noisy = n_read + 1, n_noisy + ("noisy_machine" in str(row["flags"]))
        assert record.request_log is not None and record.machine is not None
        if record.request_log.reader_cpu_s is None:  # made when it was counted among other processes
            assert "noisy_machine" in record.flags
            assert float(str(row["other_cpu_s"])) < (record.machine.other_cpu_s or 0.0)
    assert n_read >= 20 and n_noisy < 5


def watched(*rows: tuple[float, int, int]) -> bytes:
    head = (
        "epoch_s,n_active,n_idle,n_idle_in_transaction,n_starting,n_waiting_for_lock,n_locks_not_granted,"
        "deadlocks,xact_commit,xact_rollback\n"
    )
    return (head + "".join(f"{t},{a},{i},1,0,0,0,0,{int(t)},0\n" for t, a, i in rows)).encode()


def test_a_cut_last_line_of_connections_is_left_out_and_a_file_that_the_watch_did_not_write_refused() -> None:
    text = watched((10.0, 50, 50), (20.0, 3, 4), (20.5, 1, 9)) + b"30.5,7"
    assert read_database(io.BytesIO(text))["n_active"].tolist() == [50, 3, 1]
    for wrong in (b"", b"a,b\n1,2\n"):
        with pytest.raises(InputError):
            read_database(io.BytesIO(wrong))

# SPDX-License-Identifier: Apache-2.0
"""What was tidied before is kept, and made again when a table, a record or the code is another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.analysis.tables import tidy as tidy_module
from harness.analysis.tables.layout import load_table
from harness.analysis.tables.tidy import tidy
from harness.import_closure import closure
from harness.project import find_root
from harness.tests.support.toy_sessions import make_session, trial_ids


def test_a_second_call_reads_nothing_again_and_gives_the_same_bytes(tmp_path: Path) -> None:
    make_session(tmp_path)
    tidy(tmp_path)
    trials = tmp_path / "data" / "processed" / "toy" / "trials.parquet"
    before = trials.read_bytes()
    again = tidy(tmp_path)
    assert (again.n_fresh, again.n_unchanged) == (0, 10)
    assert trials.read_bytes() == before


def test_changed_code_makes_every_table_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_session(tmp_path)
    tidy(tmp_path)
    monkeypatch.setattr(tidy_module, "_code_hash", lambda: "another make")
    assert tidy(tmp_path).n_fresh == 10


def test_every_module_that_a_process_loads_to_tidy_is_one_whose_change_is_noticed() -> None:
    """Packages may be loaded on the way to their modules: what they hold themselves makes no table."""
    program = (
        f"import sys, {tidy_module.__name__}\n"
        "print(*(n for n, m in sys.modules.items() if n.startswith('harness.') and not hasattr(m, '__path__')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert tidy_module.__name__ in loaded
    assert loaded <= set(closure(find_root(Path(__file__).parent), {tidy_module.__name__}))


def test_a_table_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    tidy(tmp_path)
    trial = trial_ids(session)[2]
    (tmp_path / "data/processed/toy/requests" / session.folder.name / f"{trial}.parquet").unlink()
    assert tidy(tmp_path).n_fresh == 1
    assert len(load_table(tmp_path, "toy", "requests", session.folder.name, trial)) == 400

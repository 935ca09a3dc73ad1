# SPDX-License-Identifier: Apache-2.0
"""Which of several sessions that come with the project is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.evidence.sessions import newest_session
from harness.tests.support.toy_sessions import make_session, trial_ids

HOUR_S = 3600.0


def newest(root: Path, *, bundled: bool = True) -> str | None:
    session = newest_session(root, "toy", bundled=bundled)
    return None if session is None else session.folder.name


def test_a_newer_session_is_read_instead_of_an_older_one(tmp_path: Path) -> None:
    make_session(tmp_path, bundled=True, seed=2)
    assert newest(tmp_path) == "smoke-local-2"
    make_session(tmp_path, bundled=True, seed=1, began_s=HOUR_S)
    assert newest(tmp_path) == "smoke-local-1"


@pytest.mark.parametrize(
    ("n_noisy", "read"), [(10, "smoke-local-2"), (6, "smoke-local-2"), (5, "smoke-local-1")]
)
def test_a_session_disturbed_in_most_of_its_trials_is_not_read_where_another_is_complete(
    tmp_path: Path, n_noisy: int, read: str
) -> None:
    make_session(tmp_path, bundled=True, seed=2)
    disturbed = make_session(tmp_path, bundled=True, seed=1, began_s=HOUR_S, n_noisy=n_noisy)
    assert len(trial_ids(disturbed)) == 10
    assert newest(tmp_path) == read


def test_the_newest_is_read_where_all_are_disturbed_and_of_those_measured_here(tmp_path: Path) -> None:
    for bundled in (True, False):
        make_session(tmp_path, bundled=bundled, seed=2, n_noisy=10 if bundled else 0)
        make_session(tmp_path, bundled=bundled, seed=1, began_s=HOUR_S, n_noisy=10)
        assert newest(tmp_path, bundled=bundled) == "smoke-local-1"

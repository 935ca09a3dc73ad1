# SPDX-License-Identifier: Apache-2.0
"""Every session that comes with the project was measured with a source that anybody can check out."""

from __future__ import annotations

import subprocess

import pytest

from harness.store import Store
from harness.tests.support.available import not_run
from harness.tests.support.synthetic import ROOT

SESSIONS = {session.key: session for session in Store(ROOT).sessions(bundled=True)}


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def history() -> frozenset[str]:
    """The commits that this one descends from, and itself."""
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        not_run("the history of the project: a clone with all of its commits")
    return frozenset(git("rev-list", "HEAD").stdout.split())


@pytest.mark.parametrize("key", SESSIONS)
def test_the_commit_of_a_bundled_session_is_in_the_history(key: str, history: frozenset[str]) -> None:
    provenance = SESSIONS[key].header.provenance
    assert provenance.commit in history, f"{key}: measured at {provenance.commit}"

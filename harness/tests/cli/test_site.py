# SPDX-License-Identifier: Apache-2.0
"""``rematch site``: whose results the page has, and what it says where some of them are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.pipeline.execute import StageFailed
from harness.publish.generated import GENERATED, clear, fact_entry, update
from harness.tests.support.command import run_here
from harness.tests.support.published_project import make_published_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_published_project(tmp_path_factory.mktemp("site"))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The projects whose bundled sessions were analysed; nothing is executed."""
    found: list[Path] = []
    monkeypatch.setattr("harness.cli.site.publish_bundled", lambda root, command: found.append(root))
    return found


def test_results_of_bundled_sessions_are_brought_up_to_date_however_many_there_are(
    project: Path, calls: list[Path]
) -> None:
    code, out, err = run_here(project, "site")
    assert (code, err, calls) == (0, "", [project])
    assert "the page: results/site/index.html" in out


def test_own_results_are_shown_as_they_are(project: Path, calls: list[Path], tmp_path: Path) -> None:
    own = fact_entry("own") | {"notebook": "99-own", "inputs": ["strings-startup/quick-local-1/0001-go-kit"]}
    update(project / GENERATED, "99-own", [("values", "own.x", own)])
    try:
        run_here(project, "site")
        assert calls == []
    finally:
        clear(project, "99-own")


def test_a_notebook_that_fails_costs_its_own_results_and_not_the_page(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(root: Path, command: str) -> None:
        raise StageFailed("31-startup.ipynb, cell 2 (x): NameError; resume: rematch site")

    monkeypatch.setattr("harness.cli.site.publish_bundled", fail)
    page = project / "results" / "site" / "index.html"
    page.unlink(missing_ok=True)
    code, out, err = run_here(project, "site")
    assert code == 1
    assert "not all of its results are up to date: 31-startup.ipynb, cell 2 (x): NameError" in err
    assert page.is_file() and "the page: " in out

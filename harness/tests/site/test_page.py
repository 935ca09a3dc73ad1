# SPDX-License-Identifier: Apache-2.0
"""Rules for the results page: one file that loads and runs nothing, fit for every reader; and whose results it has."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from harness import rows
from harness.analysis.evidence import Evidence
from harness.analysis.tables.tidy import tidy
from harness.errors import InputError
from harness.pipeline.execute import StageFailed
from harness.pipeline.site import build_site
from harness.publish.generated import GENERATED, clear, fact_entry, update
from harness.publish.publisher import Publisher
from harness.questions import claims
from harness.rows.question import parquet_of
from harness.rows.schema import keyed, records
from harness.rows.text import cells_of, entries_of
from harness.store import Store
from harness.tests.support.command import run_here
from harness.tests.support.kept_sessions import lay_tables
from harness.tests.support.sessions import REPOSITORY

LINKED = "harness", "notebooks", "pyproject.toml", "data/published", "services", "paper/references.bib"
EXPERIMENT = "strings-startup"
#: What nobody should write into a label, and a page has to show as it is.
HOSTILE = '</script><script>alert(1)</script><img src="http://example.invalid/x" onerror=alert(2)> & "quoted"'
FINDING = "Java programs take longer."


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few results of a bundled session, published by the ways that notebooks publish."""
    root = tmp_path_factory.mktemp("published")
    for name in LINKED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(REPOSITORY / name)
    bundled = Path("data/raw/bundled") / EXPERIMENT
    shutil.copytree(REPOSITORY / bundled, root / bundled)
    lay_tables(root, EXPERIMENT)
    tidy(root, [EXPERIMENT], sources=["bundled"])
    sessions = Store(root).sessions(EXPERIMENT, bundled=True)
    evidence = Evidence(root=root, experiment=EXPERIMENT, sessions=sessions)
    publisher = Publisher("31-startup", root=root, draft=evidence.draft, publish=True)
    session = rows.Session(root=root, experiment=EXPERIMENT, evidence=evidence)
    facts = rows.tidy([rows.fact("answer", FINDING), rows.fact("hostile", HOSTILE)])
    startup = keyed("startup", rows.stack(facts, session.compare("first")))
    publisher.rows("startup", entries_of(startup), parquet_of(startup))
    publisher.values({"session.days": fact_entry("2026-11-22"), "status": fact_entry(str(evidence.draft))})
    columns = {"label": f"variant {HOSTILE}", "first.mean": "first answer"}
    cells = cells_of(rows.means(evidence.trials, first="time_to_first_response_s"), columns)
    publisher.table("startup.table", columns, cells, caption=f"Start-up. {HOSTILE}")
    caption = "A table that the notebook names after the other one."
    publisher.table("startup.sizes", columns, cells, caption=caption)
    alts = {"forest": f"Ratios with intervals. {HOSTILE}", "order": "The same ratios once more."}
    for name, alt in alts.items():
        figure, axes = rows.page(height=2.6)
        rows.forest(axes, session.compare("first"), session.looks)
        axes.set_xlabel("time to first answer, ratio to Go")
        publisher.figure(f"startup.{name}", figure, alt=alt, caption=f"Ratios. {HOSTILE}")
    newest = claims.newest_sessions(root, claims.experiments(root), bundled_only=True)
    numbers = claims.as_table(claims.judge_all(newest, root=root), newest, root=root)
    Publisher("61-claims", root=root, publish=True).data("ledger.json", json.dumps(records(numbers)))
    return root


@pytest.fixture(scope="module")
def built(project: Path) -> Path:
    return build_site(project, project / "results" / "built")


@pytest.fixture(scope="module")
def page(built: Path) -> Any:
    return BeautifulSoup(built.read_text("utf-8"), "html.parser", multi_valued_attributes=None)


def faults(page: Any) -> list[str]:
    """Return what a browser would load or run, links that lead nowhere, and what cannot be read without seeing it."""
    ids = Counter(tag["id"] for tag in page.find_all(id=True))
    found = [f"the id {name} stands {n} times" for name, n in ids.items() if n > 1]
    for tag in page.find_all(True):
        found += [f"{tag.name} has a handler {name}" for name in tag.attrs if name.startswith("on")]
        for target in (tag.get(name) for name in ("href", "src", "srcset", "action")):
            if target is None or target.startswith("data:"):
                continue
            if tag.name != "a" or target[:1] != "#" or target[1:] not in ids:
                found.append(f"{tag.name} leads to {target}")
    found += [f"{tag} without words" for tag in page.find_all(["a", "summary"]) if not tag.get_text().strip()]
    found += [f"{tag} without a text in its place" for tag in page.find_all("img") if not tag.get("alt")]
    found += [f"a head without scope: {tag}" for tag in page.find_all("th") if not tag.get("scope")]
    scrolled = page.find_all(class_="scroll")
    found += [str(one)[:80] for one in scrolled if not one.get("aria-label") or not one.get("tabindex")]
    found += [f"no caption: {tag.get('id')}" for tag in page.find_all("table") if tag.caption is None]
    levels = [int(tag.name[1]) for tag in page.find_all(["h1", "h2", "h3", "h4"])]
    found += [f"heading {b} after {a}" for a, b in pairwise([0, *levels]) if b > a + 1 or b == 1 != a + 1]
    return found


def test_a_reader_of_any_kind_finds_no_fault_in_the_structure(page: Any) -> None:
    assert faults(page) == [] and page.find_all("script") == []
    policy = page.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_labels_are_shown_as_they_are_and_never_become_part_of_the_page(page: Any) -> None:
    every = page.find_all(["td", "th", "figcaption", "summary"])
    shown = [text for tag in every if "alert(1)" in (text := tag.get_text())]
    assert len(shown) >= 3 and all(HOSTILE in text for text in shown)
    assert HOSTILE in page.find("img")["alt"]


def test_every_claim_stands_with_its_verdict(page: Any, project: Path) -> None:
    sessions = claims.newest_sessions(project, claims.experiments(project), bundled_only=True)
    judged = claims.judge_all(sessions, root=project)
    rows = page.find_all("tr", {"data-kind": True})
    shown = [(tag["data-kind"], tag["data-source"], tag.th.get_text()) for tag in rows]
    assert shown == [(each.verdict.value, each.claim.source, each.name) for each in judged]


def test_the_same_results_give_the_same_page(built: Path, project: Path, tmp_path: Path) -> None:
    again = build_site(project, tmp_path / "site")
    assert again.read_bytes() == built.read_bytes()


def test_the_first_screen_has_answer_and_figure_and_sections_are_in_order(page: Any) -> None:
    first, section = str(page.find(class_="first")), str(page.find("article"))
    assert first.index(FINDING) < first.index('id="figure-startup.forest"')
    assert section.index(FINDING) < section.index('id="figure-startup.order"')
    assert re.findall(r' id="table-([^"]+)"', section) == ["startup.table", "startup.sizes"]


def test_a_page_of_nothing_is_refused_with_the_command_to_type(tmp_path: Path) -> None:
    (tmp_path / "paper" / "generated").mkdir(parents=True)
    with pytest.raises(InputError, match="nothing has been published.*make site"):
        build_site(tmp_path, tmp_path / "site")


def test_bundled_tables_are_renewed_and_own_ones_left(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []
    monkeypatch.setattr("harness.cli.publishing.publish_bundled", lambda root, command: calls.append(root))
    code, out, err = run_here(project, "site")
    assert (code, err, calls) == (0, "", [project]) and "the page: results/site/index.html" in out
    own = fact_entry("own") | {"notebook": "99-own", "inputs": ["strings-startup/quick-local-1/0001-go-kit"]}
    update(project / GENERATED, "99-own", [("values", "own.x", own)])
    try:
        assert run_here(project, "site")[0] == 0 and calls == [project]
    finally:
        clear(project, "99-own")


def test_a_failed_notebook_costs_only_its_own_results(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(root: Path, command: str) -> None:
        raise StageFailed("31-startup.ipynb, cell 2 (x): NameError; resume: rematch site")

    monkeypatch.setattr("harness.cli.publishing.publish_bundled", fail)
    page = project / "results" / "site" / "index.html"
    page.unlink(missing_ok=True)
    code, out, err = run_here(project, "site")
    assert code == 1 and page.is_file() and "the page: " in out
    assert "not all of its results are up to date: 31-startup.ipynb, cell 2 (x): NameError" in err

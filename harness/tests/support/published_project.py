# SPDX-License-Identifier: Apache-2.0
"""A project in which a few results were published from a bundled session, by the ways that notebooks publish."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from harness.analysis.evidence import Evidence
from harness.analysis.tables.tidy import tidy
from harness.publish.generated import fact_entry
from harness.publish.publisher import Publisher
from harness.questions import claims
from harness.rows import Session, fact, forest, means, page, stack
from harness.rows.question import parquet_of
from harness.rows.schema import keyed, records
from harness.rows.schema import tidy as tidy_rows
from harness.rows.text import cells_of, entries_of
from harness.store import Store
from harness.tests.support.kept_sessions import lay_tables
from harness.tests.support.sessions import REPOSITORY

EXPERIMENT, NOTEBOOK = "strings-startup", "31-startup"
#: What nobody should write into a label, and a page has to show as it is.
HOSTILE = '</script><script>alert(1)</script><img src="http://example.invalid/x" onerror=alert(2)> & "quoted"'
FINDING = "Java programs take longer."
METRIC = "time_to_first_response_s"


def make_published_project(root: Path) -> Path:
    """Lay out the project at ``root``: numbers, a comparison, a table and two figures."""
    for name in (
        "harness",
        "notebooks",
        "pyproject.toml",
        "data/published",
        "services",
        "paper/references.bib",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(REPOSITORY / name)
    bundled = Path("data/raw/bundled") / EXPERIMENT
    shutil.copytree(REPOSITORY / bundled, root / bundled)
    lay_tables(root, EXPERIMENT)
    tidy(root, [EXPERIMENT], sources=["bundled"])
    evidence = Evidence(
        root=root, experiment=EXPERIMENT, sessions=Store(root).sessions(EXPERIMENT, bundled=True)
    )
    publisher = Publisher(NOTEBOOK, root=root, draft=evidence.draft, publish=True)
    session = Session(root=root, experiment=EXPERIMENT, evidence=evidence)
    facts = tidy_rows([fact("answer", FINDING), fact("hostile", HOSTILE)])
    rows = keyed("startup", stack(facts, session.compare("first")))
    publisher.rows("startup", entries_of(rows), parquet_of(rows))
    publisher.values({"session.days": fact_entry("2026-11-22"), "status": fact_entry(str(evidence.draft))})
    columns = {"label": f"variant {HOSTILE}", "first.mean": "first answer"}
    cells = cells_of(means(evidence.trials, first=METRIC), columns)
    publisher.table("startup.table", columns, cells, caption=f"Start-up. {HOSTILE}")
    publisher.table(
        "startup.sizes", columns, cells, caption="A table that the notebook names after the other one."
    )
    drawn = []
    for _ in range(2):
        figure, axes = page(height=2.6)
        forest(axes, session.compare("first"), session.looks)
        axes.set_xlabel("time to first answer, ratio to Go")
        drawn.append(figure)
    publisher.figure(
        "startup.forest", drawn[0], alt=f"Ratios with intervals. {HOSTILE}", caption=f"Ratios. {HOSTILE}"
    )
    publisher.figure("startup.order", drawn[1], alt="The same ratios once more.", caption="The same ratios.")
    sessions = claims.newest_sessions(root, claims.experiments(root), bundled_only=True)
    numbers = claims.as_table(claims.judge_all(sessions, root=root), sessions, root=root)
    Publisher("61-claims", root=root, publish=True).data("ledger.json", json.dumps(records(numbers)))
    return root

# SPDX-License-Identifier: Apache-2.0
"""A project in which a few results were published from a bundled session, by the ways that notebooks publish."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat

from harness import figures
from harness.analysis.stats.comparisons import compare
from harness.analysis.tables.tidy import tidy
from harness.evidence import Evidence
from harness.publish.publisher import Publisher
from harness.store import Store
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.sessions import REPOSITORY

EXPERIMENT, NOTEBOOK = "strings-startup", "31-startup"
#: What nobody should write into a label, and a page has to show as it is.
HOSTILE = '</script><script>alert(1)</script><img src="http://example.invalid/x" onerror=alert(2)> & "quoted"'
FINDING = "Java programs take longer."
METRIC = "time_to_first_response_s"


def make_published_project(root: Path) -> Path:
    """Lay out the project at ``root``: numbers, a comparison, a table, two figures, and an executed notebook."""
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
    trials, reference = evidence.trials, evidence.reference
    publisher = Publisher(NOTEBOOK, root=root, draft=evidence.draft, publish=True)
    found = compare(trials, METRIC, reference=reference)
    others = [name for name in evidence.variants if name != reference]
    publisher.comparisons("startup.first", found, variants=others, main={})
    publisher.text("startup.hostile", HOSTILE)
    publisher.text("startup.finding.takeaway", FINDING)
    publisher.text("session.days", "2026-11-22")
    publisher.text("status", str(evidence.draft))
    publisher.table(
        "startup.table",
        {"variant": f"variant {HOSTILE}", METRIC: "first answer"},
        evidence.rows(trials, [METRIC]),
        caption=f"Start-up. {HOSTILE}",
    )
    publisher.table(
        "startup.sizes",
        {"variant": "variant", METRIC: "first answer"},
        evidence.rows(trials, [METRIC]),
        caption="A table that the notebook names after the other one.",
    )
    publisher.figure(
        "startup.forest", figures.forest, found, trials, quantity="time to first answer",
        alt=f"Ratios with intervals. {HOSTILE}", caption=f"Ratios. {HOSTILE}",
    )  # fmt: skip
    publisher.figure(
        "startup.order", figures.forest, found, trials, quantity="first answer",
        alt="The same ratios once more.", caption="The same ratios.",
    )  # fmt: skip
    _execute_nothing(root)
    return root


def _execute_nothing(root: Path) -> None:
    """Write an executed notebook with an output of each kind."""
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]  # nbformat has no types
    html = f"<p>bold</p><script>alert(3)</script><table><tr><td>{'a&lt;b'}</td></tr></table>"
    outputs = [
        nbformat.v4.new_output("display_data", data={"text/html": html, "text/plain": "bold"}),  # type: ignore[no-untyped-call]
        nbformat.v4.new_output("stream", name="stdout", text="printed <b>as it is</b>"),  # type: ignore[no-untyped-call]
    ]
    book.cells = [
        nbformat.v4.new_markdown_cell("# Start-up\n\n**Question: how long?**"),  # type: ignore[no-untyped-call]
        nbformat.v4.new_code_cell("1 < 2", outputs=outputs),  # type: ignore[no-untyped-call]
    ]
    folder = root / "results" / "sample"
    folder.mkdir(parents=True)
    nbformat.write(book, folder / f"{NOTEBOOK}.ipynb")  # type: ignore[no-untyped-call]

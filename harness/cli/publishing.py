# SPDX-License-Identifier: Apache-2.0
"""``rematch paper`` and ``rematch site``: what the notebooks have published, typeset or as a page."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from harness.model.digits import fixed
from harness.pipeline.execute import StageFailed, publish_bundled
from harness.pipeline.site import build_site
from harness.project import find_root
from harness.publish.artifact_page import write_page
from harness.publish.build import build_paper
from harness.publish.generated import read_values
from harness.publish.sentences import write_readme


def site_command() -> None:
    """Write results/site/index.html, one page with every published answer, table, figure and claim.

    It loads nothing and works as a file. Where nothing of your own was published, the bundled sessions are analysed
    first, as make paper PROFILE=sample does; what is up to date is left alone, so that a first call that was
    interrupted goes on where it stopped. Exit status 1: a notebook failed; the page has the results of the others.

    \b
    Examples:
        rematch site
    """
    root = find_root()
    failure: StageFailed | None = None
    trials = (trial for entry in read_values(root).values() for trial in entry["inputs"])
    if all(trial.startswith("bundled/") for trial in trials):  # nothing of one's own, or nothing at all
        print("Analysing the bundled sessions where that is not done yet.", flush=True)
        try:
            publish_bundled(root, command="rematch site")
        except StageFailed as error:
            if not read_values(root):
                raise
            failure = error
    page = build_site(root, root / "results" / "site")
    print(f"the page: {os.path.relpath(page)} ({fixed(page.stat().st_size / 1e6, 2)} MB)")
    if failure is not None:
        print(f"not all of its results are up to date: {failure}", file=sys.stderr)
        raise typer.Exit(1)


def paper_command(
    readme: Annotated[bool, typer.Option("--readme", help="write the headline of README.md instead")] = False,
    artifact: Annotated[
        bool, typer.Option("--artifact", help="write the tables of ARTIFACT.md instead")
    ] = False,
) -> None:
    """Build paper/main.pdf from paper/ and the numbers, tables and figures of the notebooks.

    Measuring and analysing come first, with `make paper`.

    \b
    Examples:
        rematch paper
        rematch paper --readme
    """
    root = find_root()
    parts = ((readme, "the numbers", write_readme), (artifact, "the tables", write_page))
    for what, write in [(what, write) for asked, what, write in parts if asked] or [
        ("the paper", build_paper)
    ]:
        print(f"{what}: {os.path.relpath(write(root))}")

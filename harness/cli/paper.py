# SPDX-License-Identifier: Apache-2.0
"""``rematch paper``: typeset the paper from what the notebooks have published."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from harness.project import find_root
from harness.publish.artifact_page import write_page
from harness.publish.build import build_paper, copy_pdf
from harness.publish.readme import write_readme


def paper_command(
    readme: Annotated[bool, typer.Option("--readme", help="write the headline of README.md instead")] = False,
    artifact: Annotated[
        bool, typer.Option("--artifact", help="write the tables of ARTIFACT.md instead")
    ] = False,
    copy: Annotated[
        bool, typer.Option("--copy", help="copy the built PDF to docs/, where README.md links it")
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
    parts = (
        (readme, "the numbers", write_readme),
        (artifact, "the tables", write_page),
        (copy, "the copy", copy_pdf),
    )
    wanted = [(what, write) for asked, what, write in parts if asked] or [("the paper", build_paper)]
    for what, write in wanted:
        print(f"{what}: {os.path.relpath(write(root))}")

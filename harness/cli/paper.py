# SPDX-License-Identifier: Apache-2.0
"""``rematch paper``: typeset the paper from what the notebooks have published."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from harness.errors import InputError
from harness.project import find_root
from harness.publish.artifact_page import write_page
from harness.publish.build import build_paper
from harness.publish.sentences import write_readme


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
    if readme and artifact:
        raise InputError("one at a time", place="options", allowed="--readme or --artifact")
    if readme:
        print(f"the numbers: {os.path.relpath(write_readme(root))}")
    elif artifact:
        print(f"the tables: {os.path.relpath(write_page(root))}")
    else:
        print(f"the paper: {os.path.relpath(build_paper(root))}")

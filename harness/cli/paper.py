# SPDX-License-Identifier: Apache-2.0
"""``rematch paper``: typeset the paper from what the notebooks have published."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from harness.project import find_root


def paper_command(
    readme: Annotated[bool, typer.Option("--readme", help="write the headline of README.md instead")] = False,
) -> None:
    """Build paper/main.pdf from paper/ and the numbers, tables and figures of the notebooks.

    It measures and analyses nothing; `make paper` does that first.

    Examples:

        rematch paper

        rematch paper --readme
    """
    from harness.publish.build import build_paper
    from harness.publish.readme import write_headline

    if readme:
        print(f"the headline: {os.path.relpath(write_headline(find_root()))}")
        return
    print(f"the paper: {os.path.relpath(build_paper(find_root()))}")

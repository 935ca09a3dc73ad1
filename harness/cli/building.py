# SPDX-License-Identifier: Apache-2.0
"""``rematch paper``: typeset the paper from what the notebooks have published."""

from __future__ import annotations

import os

from harness.project import find_root


def paper_command() -> None:
    """Build paper/main.pdf from paper/ and the numbers, tables and figures of the notebooks.

    It measures and analyses nothing: `make paper` does that first.

    Examples:

        rematch paper
    """
    from harness.paper import build_paper

    print(f"the paper: {os.path.relpath(build_paper(find_root()))}")

# SPDX-License-Identifier: Apache-2.0
"""``rematch site``: the results page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.lines import counted
from harness.project import find_root

#: Where the page is written, below the project.
FOLDER = Path("results") / "site"


def site_command(
    folder: Annotated[
        Path | None, typer.Option(help=f"folder to write into; default: {FOLDER.as_posix()}")
    ] = None,
) -> None:
    """Write the results page: one HTML file with every published number, table, figure and claim.

    It loads nothing and works as a file. Executed notebooks are pages beside it. Where nothing was published, the
    bundled sessions are analysed first, as make paper PROFILE=sample does.

    Examples:

        rematch site

        rematch site --folder /tmp/site
    """
    from harness.model.digits import fixed
    from harness.publish.generated import read_values
    from harness.site import build_site

    root = find_root()
    if not read_values(root):
        from harness.pipeline.publishing import publish_bundled

        print("Nothing was published: analysing the bundled sessions first.", flush=True)
        publish_bundled(root)
    built = build_site(root, folder if folder is not None else root / FOLDER)
    parts = {"number": built.n_numbers, "trial": built.n_trials, "figure": built.n_figures}
    said = ", ".join(counted(n, thing) for thing, n in parts.items())
    print(
        f"the page: {os.path.relpath(built.page)} ({fixed(built.n_bytes / 1e6, 2)} MB): {said}, "
        f"{counted(built.n_notebooks, 'notebook')} beside it"
    )
    if built.beside:
        print(f"too large for the page, files beside it: {', '.join(built.beside)}")

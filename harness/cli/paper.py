# SPDX-License-Identifier: Apache-2.0
"""``rematch paper``: typeset the paper from what the notebooks have published."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import InputError
from harness.project import find_root
from harness.publish.artifact_page import write_page
from harness.publish.build import build_paper, copy_pdf
from harness.publish.readme import write_readme
from harness.publish.source_bundle import DIFF, NOT_COMPARED, changed_lines, make_bundle


def paper_command(
    readme: Annotated[bool, typer.Option("--readme", help="write the headline of README.md instead")] = False,
    artifact: Annotated[
        bool, typer.Option("--artifact", help="write the tables of ARTIFACT.md instead")
    ] = False,
    copy: Annotated[
        bool, typer.Option("--copy", help="copy the built PDF to docs/, where README.md links it")
    ] = False,
    bundle: Annotated[
        bool, typer.Option("--bundle", help="also write the sources as one archive, and build them alone")
    ] = False,
    diff: Annotated[
        str | None, typer.Option("--diff", metavar="REV", help="show what changed in the text since a commit")
    ] = None,
) -> None:
    """Build paper/main.pdf from paper/ and the numbers, tables and figures of the notebooks.

    Measuring and analysing come first, with `make paper`.
    The archive of --bundle is for preprint servers: it is unpacked into an
    empty folder and built there by pdflatex alone.
    --diff prints the changed lines word by word, [-removed-] {+added+}.

    \b
    Examples:
        rematch paper
        rematch paper --readme
        rematch paper --bundle
        rematch paper --diff HEAD~10
    """
    root = find_root()
    if sum((readme, artifact, copy, bundle, diff is not None)) > 1:
        raise InputError(
            "one at a time", place="options", allowed="--readme, --artifact, --copy, --bundle or --diff REV"
        )
    if readme:
        print(f"the numbers: {os.path.relpath(write_readme(root))}")
    elif artifact:
        print(f"the tables: {os.path.relpath(write_page(root))}")
    elif copy:
        print(f"the copy: {os.path.relpath(copy_pdf(root))}")
    elif bundle:
        _bundle(root)
    elif diff is not None:
        _diff(root, diff)
    else:
        print(f"the paper: {os.path.relpath(build_paper(root))}")


def _bundle(root: Path) -> None:
    proof = make_bundle(root)
    n_bytes = proof.bundle.stat().st_size
    print(f"the bundle: {os.path.relpath(proof.bundle)}, {proof.n_files} files, {n_bytes:,} bytes")
    print(f"bibliography: {proof.n_references} entries, each cited or listed; every citation has one")
    same = "the same bytes as paper/main.pdf" if proof.same_bytes else "other bytes than paper/main.pdf"
    print(f"built in an empty folder by pdflatex alone: {proof.n_pages} pages, {same}")


def _diff(root: Path, revision: str) -> None:
    changed = changed_lines(root, revision)
    for name, lines in groupby(changed, key=lambda item: item[0]):
        print(f"{name}:")
        print("".join(f"    {line}\n" for _, line in lines))
    print(f"changed lines of the text: {len(changed)}, in {os.path.relpath(root / DIFF)}")
    print(NOT_COMPARED)

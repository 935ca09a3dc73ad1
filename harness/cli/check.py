# SPDX-License-Identifier: Apache-2.0
"""``rematch check``: what this machine can do, and what it is fit for."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.lines import say
from harness.errors import InputError
from harness.project import find_root

#: What shows and executes notebooks.
_NOTEBOOKS = ("jupyterlab", "papermill", "nbconvert")


class Purpose(StrEnum):
    """What a machine is checked for."""

    MEASURING = "measuring"
    READING = "reading"
    WORKSHOP = "workshop"


def check(
    host: Annotated[
        str,
        typer.Option(help="host to check: local, or a name of hosts.toml", autocompletion=completion.hosts),
    ] = "local",
    purpose: Annotated[
        Purpose, typer.Option("--for", help="what the machine is checked for")
    ] = Purpose.MEASURING,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List available and missing tools with install commands, and report how idle the machine is.

    Exit status 1: something that measuring, or what --for names, requires is missing.

    \b
    Examples:
        rematch check
        rematch check --for reading
        rematch check --json
        rematch check --host bighost
    """
    if purpose is not Purpose.MEASURING:
        _check_reading(purpose, alone=host == "local" and not as_json)
        return
    if host != "local":
        from harness.cli.check_remote import check_remote

        check_remote(host, as_json=as_json)
        return
    from harness.cli.check_here import check_here

    if not check_here(as_json=as_json):
        raise typer.Exit(1)


def _check_reading(purpose: Purpose, *, alone: bool) -> None:
    """Print what is ready where only records are read. ``alone``: neither another host nor JSON was asked for."""
    if not alone:
        raise InputError(
            "is about this machine, in words", place=f"--for {purpose}", allowed="no --host, no --json"
        )
    wanted = {name: {"the notebooks"} for name in _NOTEBOOKS} | _imported(find_root(), purpose)
    missing = {name: users for name, users in wanted.items() if find_spec(name) is None}
    for name, users in missing.items():
        say(f"Not ready: the Python package {name} is missing, required by {', '.join(sorted(users))}")
    if missing:
        print("install with: python3 -m setup --for lab")
        raise typer.Exit(1)
    say(_ready_for(purpose), hang="  ")


def _imported(root: Path, purpose: Purpose) -> dict[str, set[str]]:
    """Return package -> which notebooks and pages cannot do without it, as their sources say."""
    from harness.import_closure import closure, packages, source_texts
    from harness.pipeline.stage import analysis_notebooks

    def of_module(name: str) -> list[str]:
        return source_texts(root, closure(root, {name}))

    if purpose is Purpose.WORKSHOP:
        users = {"the workshop": of_module("harness.questions.workshop")}
    else:
        users = {
            notebook.name: [*notebook.code_cells, *source_texts(root, notebook.imported(root))]
            for notebook in analysis_notebooks(root)
        }
        users |= {
            "the paper": of_module("harness.pipeline"),
            "the results page": of_module("harness.site.build"),
        }
    results: dict[str, set[str]] = {}
    for user, texts in users.items():
        for name in packages(texts):
            results.setdefault(name, set()).add(user)
    return results


def _ready_for(purpose: Purpose) -> str:
    from harness.toolchains import Surroundings, find_all

    if purpose is Purpose.WORKSHOP:
        return (
            "Ready for the workshop: make workshop-check reads the sessions and prints the code to compare."
        )
    latex = next(tool for tool in find_all(Surroundings(project=find_root())) if tool.name == "latex")
    ready = "Ready for notebooks, reports, comparisons, traces and the results page."
    if latex.usable:
        return f"{ready} Ready to build the paper."
    return f"{ready} The paper can be built once LaTeX is installed: {latex.how_to_get}"

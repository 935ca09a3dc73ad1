# SPDX-License-Identifier: Apache-2.0
"""Tools that a machine may be without: the test that needs one runs, or says loudly that it did not."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.toolchains import Surroundings, find_tool

#: How such a skip begins; ``conftest.py`` repeats these at the end of the run.
NOT_RUN = "not run: "
PROJECT = Path(__file__).resolve().parents[2]


def program_or_not_run(name: str) -> Path:
    """The program of a tool that set-up may have to go on without."""
    tool = find_tool(name, Surroundings(project=PROJECT))
    if tool.path is None or not tool.usable:
        # Set-up builds k6 for the tests and goes on when that fails; oha takes Rust and minutes, so it is only
        # built when asked for. Neither may stop the other tests, and the end of the run says what was left out.
        pytest.skip(f"{NOT_RUN}{name} is not here; get it with: {tool.how_to_get}")
    return tool.path

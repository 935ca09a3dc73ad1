# SPDX-License-Identifier: Apache-2.0
"""What a machine may be without, or too busy for: the test that needs it runs, or says loudly that it did not.

These are the only ways to skip a test here. The end of a run repeats every reason, and
where ``CI`` is set a test that was not run for want of a real part is a failure: see ``conftest.py``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NoReturn

import pytest
from _pytest.mark import ParameterSet

from harness.toolchains import Surroundings, Tool, find_tool

#: A real part or a right (mounting, making links) is missing, so something stays untested.
NOT_RUN = "not run: "
#: Takes minutes and is only run for who asks for it.
NOT_ASKED_FOR = "not asked for: "
#: The machine itself did what the test looks for, so its answer would be about the machine.
CANNOT_TELL = "cannot tell here: "
PROJECT = Path(__file__).resolve().parents[3]


def not_run(reason: str) -> NoReturn:
    """Skip this test: a real part is missing here."""
    # Never where CI is set: conftest.py turns these into a failure of the run.
    pytest.skip(f"{NOT_RUN}{reason}")


def not_asked_for(what: str) -> NoReturn:
    """Skip this test: nobody asked for it."""
    # Asked for by a variable or a target that the reason names: nothing that set-up brings can be missing.
    pytest.skip(f"{NOT_ASKED_FOR}{what}")


def cannot_tell(reason: str) -> NoReturn:
    """Skip this test: it measured how much the machine's other work disturbs, and that is too much."""
    # Only after the disturbance itself was measured; never because an assertion did not hold.
    pytest.skip(f"{CANNOT_TELL}{reason}")


def long_tests_are_asked_for() -> bool:
    """Return whether this run has the long tests too, as ``make test-all`` does."""
    return os.environ.get("REMATCH_LONG_TESTS") == "1"


def only_when_long(what: str = "real parts put together at length") -> pytest.MarkDecorator:
    """Mark what takes a minute or more, and is tested smaller, or part by part, in every run."""
    # The reason says how it is asked for.
    return pytest.mark.skipif(not long_tests_are_asked_for(), reason=f"{NOT_ASKED_FOR}{what} (make test-all)")


def some_in_every_run(names: Iterable[str], always: Collection[str], what: str) -> list[ParameterSet]:
    """Return the names as parameters of a test; all but those of ``always`` are marked `only_when_long`.

    Raises:
        ValueError: ``always`` has a name that is not among the names.
    """
    every = list(names)
    if unknown := set(always) - set(every):
        raise ValueError(f"not among the names: {sorted(unknown)}; allowed: {every}")
    marks = only_when_long(what)
    return [pytest.param(name, id=name, marks=() if name in always else marks) for name in every]


def needs(lacking: str | None) -> pytest.MarkDecorator:
    """Mark what only runs where nothing is lacking (``None``)."""
    # As `not_run`, said before the test begins.
    return pytest.mark.skipif(lacking is not None, reason=f"{NOT_RUN}{lacking}")


def program_or_not_run(name: str) -> Path:
    """Return the program of a tool that set-up brings for the tests, and may have to go on without."""
    tool = find_tool(name, Surroundings(project=PROJECT))
    return _path_of(tool) or not_run(_words(tool))


def program_or_not_asked_for(name: str) -> Path:
    """Return the program of a tool that set-up brings only when it is asked to."""
    tool = find_tool(name, Surroundings(project=PROJECT))
    return _path_of(tool) or not_asked_for(_words(tool))


def _path_of(tool: Tool) -> Path | None:
    return tool.path if tool.usable else None


def _words(tool: Tool) -> str:
    return f"{tool.name} is missing; install it with: {tool.how_to_get}"


def only_with_a_cluster() -> pytest.MarkDecorator:
    """Mark what needs a Kubernetes cluster, which ``make test-kubernetes`` takes from KUBECONFIG."""
    # Opt-in: it takes minutes and makes objects in somebody's cluster.
    asked = os.environ.get("REMATCH_KUBERNETES_TESTS") == "1"
    return pytest.mark.skipif(not asked, reason=f"{NOT_ASKED_FOR}a Kubernetes cluster (make test-kubernetes)")

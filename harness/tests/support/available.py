# SPDX-License-Identifier: Apache-2.0
"""What a machine may be without, or too busy for: the test that needs it runs, waits for it, or says that it did not."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from _pytest.mark import ParameterSet

from harness.toolchains import Surroundings, find_tool

#: A real part or a right (mounting, making links) is missing, so something stays untested.
NOT_RUN = "not run: "
#: Takes minutes and is only run for who asks for it.
NOT_ASKED_FOR = "not asked for: "
#: The machine itself did what the test looks for, so its answer would be about the machine.
CANNOT_TELL = "cannot tell here: "
PROJECT = Path(__file__).resolve().parents[3]
#: Every test must run whose real part can be brought.
IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")


def not_run(reason: str) -> NoReturn:
    """Skip this test, or fail it in CI: a real part is missing here."""
    if IN_CI:
        pytest.fail(f"{NOT_RUN}{reason}; CI is set: bring the part, or unset CI to go without it")
    pytest.skip(f"{NOT_RUN}{reason}")


def not_asked_for(what: str) -> NoReturn:
    """Skip this test: nobody asked for it by the variable or target that the reason names."""
    pytest.skip(f"{NOT_ASKED_FOR}{what}")


def cannot_tell(reason: str) -> NoReturn:
    """Skip this test: the disturbance by the machine's other work was measured, and is too much."""
    pytest.skip(f"{CANNOT_TELL}{reason}")


def long_tests_are_asked_for() -> bool:
    """Return whether this run has the long tests too, as ``make test-all`` does."""
    return os.environ.get("REMATCH_LONG_TESTS") == "1"


def only_when_long(what: str = "real parts put together at length") -> pytest.MarkDecorator:
    """Mark what takes a minute or more, and is tested smaller, or part by part, in every run."""
    return pytest.mark.skipif(not long_tests_are_asked_for(), reason=f"{NOT_ASKED_FOR}{what} (make test-all)")


def only_in_ci(what: str) -> pytest.MarkDecorator:
    """Mark what takes half a minute or more on two cores: CI runs it for every change, other runs test it in parts."""
    asked = IN_CI or long_tests_are_asked_for()
    return pytest.mark.skipif(not asked, reason=f"{NOT_ASKED_FOR}{what} (CI, make test-all)")


def some_in_every_run(names: Iterable[str], always: Collection[str], what: str) -> list[ParameterSet]:
    """Return the names as parameters of a test; all but those of ``always`` are marked `only_when_long`."""
    every = list(names)
    assert set(always) <= set(every), f"not among the names: {sorted(set(always) - set(every))}"
    marks = only_when_long(what)
    return [pytest.param(name, id=name, marks=() if name in always else marks) for name in every]


def needs(lacking: str | None) -> pytest.MarkDecorator:
    """Mark what only runs where nothing is lacking (``None``); in CI it runs, and fails."""
    return pytest.mark.skipif(lacking is not None and not IN_CI, reason=f"{NOT_RUN}{lacking}")


def program_or_not_run(name: str, skip: Callable[[str], NoReturn] = not_run) -> Path:
    """Return the program of a tool that set-up brings for the tests, and may have to go on without."""
    tool = find_tool(name, Surroundings(project=PROJECT))
    if not tool.usable or tool.path is None:
        skip(f"{tool.name} is missing; install it with: {tool.how_to_get}")
    return tool.path


def program_or_not_asked_for(name: str) -> Path:
    """Return the program of a tool that set-up brings only when it is asked to."""
    return program_or_not_run(name, not_asked_for)


def only_with_a_cluster() -> pytest.MarkDecorator:
    """Mark what needs a Kubernetes cluster, which ``make test-kubernetes`` takes from KUBECONFIG."""
    asked = os.environ.get("REMATCH_KUBERNETES_TESTS") == "1"
    return pytest.mark.skipif(not asked, reason=f"{NOT_ASKED_FOR}a Kubernetes cluster (make test-kubernetes)")


#: The folder of a run, which ``conftest.py`` makes and removes: what all its workers share.
SHARED = "REMATCH_SHARED_BY_TESTS"
#: Limits are chosen for an idle machine of two cores; beside other tests everything takes longer.
FACTOR = 4.0
#: How often ``lateness`` looks how late who sleeps is woken: the disturbance of a test that measures real time.
SLEEP_S = 0.005


def patient(limit_s: float) -> float:
    """Return the limit, lengthened for a machine that runs other tests meanwhile."""
    return FACTOR * limit_s


@dataclass
class Lateness:
    """``most_s``: the longest time after its end that a sleep lasted."""

    most_s: float = 0.0


@contextlib.contextmanager
def lateness() -> Iterator[Lateness]:
    """Sleep again and again in a thread for as long as the context lasts."""
    late, stop = Lateness(), threading.Event()

    def sleep() -> None:
        while not stop.is_set():
            due_s = time.monotonic() + SLEEP_S
            time.sleep(SLEEP_S)
            late.most_s = max(late.most_s, time.monotonic() - due_s)

    sleeper = threading.Thread(target=sleep, name="sleeper", daemon=True)
    sleeper.start()
    try:
        yield late
    finally:
        stop.set()
        sleeper.join()


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that all workers share; ``make`` is called with its path where no worker has made it yet."""
    shared = Path(os.environ[SHARED])
    folder, made = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that was killed
            make(folder)
            made.touch()
    return folder

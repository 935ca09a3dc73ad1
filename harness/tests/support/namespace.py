# SPDX-License-Identifier: Apache-2.0
"""A second address with a link that can be cut, for tests; where there can be none, they say so."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psutil

from harness.tests.support.available import not_run
from harness.tests.support.instances import eventually
from harness.tests.support.machine.link import Namespace, why_not

__all__ = ["Namespace", "tidy_namespace", "why_not"]


def tidy_namespace(number: int | None = None) -> Iterator[Namespace]:
    """Yield a namespace, or say that the test was not run. The body of a fixture.

    A process that still runs inside when the test is over fails it, and is ended: it would wait for its link.
    """
    reason = why_not()
    if reason is not None:
        not_run(reason)
    made = Namespace() if number is None else Namespace(number=number % 16000)
    try:
        made.make()
        yield made
        eventually(lambda: not inside(made), 60)
        said = []
        for process in inside(made):
            with contextlib.suppress(psutil.NoSuchProcess):
                said.append(" ".join(process.cmdline()))
                process.kill()
        assert said == []
    finally:
        made.remove()


def inside(namespace: Namespace) -> list[psutil.Process]:
    """The processes whose network this is."""
    network = os.stat(namespace.file).st_ino
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{process.pid}/ns/net").st_ino == network:
                found.append(process)
    return found

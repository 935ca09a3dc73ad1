# SPDX-License-Identifier: Apache-2.0
"""A port is given to one process at a time, before its service listens there as well."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.agent import ports
from harness.tests.support.sessions import REPOSITORY

ANOTHER = (
    "import sys\nfrom harness.agent import ports\nprint(ports.lease(int(sys.argv[1])), flush=True)\ninput()"
)


@pytest.fixture
def leased_elsewhere() -> Iterator[int]:
    """A port that another process was given and on which nothing listens yet."""
    port = ports.free_port()
    ports._leases.pop().close()
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER, str(port)], cwd=REPOSITORY, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "True\n"
        yield port
        process.communicate("\n")


class Chooser:
    """Chooses the ports that it was told."""

    def __init__(self, *chosen: int) -> None:
        self._left = list(chosen)

    def randint(self, _low: int, _high: int) -> int:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def test_a_port_that_another_process_was_given_is_not_given_again(
    leased_elsewhere: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ports.free_port()
    monkeypatch.setattr("random.SystemRandom", lambda: Chooser(leased_elsewhere, other, other + 1))
    assert ports.free_port() not in (leased_elsewhere, other)


def test_few_leases_are_kept() -> None:
    given = [ports.free_port() for _ in range(3 * ports.KEPT_LEASES)]
    assert len(ports._leases) <= ports.KEPT_LEASES
    assert not ports.lease(given[-1])

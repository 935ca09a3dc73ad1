# SPDX-License-Identifier: Apache-2.0
"""What each command needs: re-analysing needs Python and LaTeX, measuring needs everything."""

from __future__ import annotations

from typing import Literal, get_args

from . import toolchains

Purpose = Literal["all", "paper", "test", "lab", "workshop", "generators", "toolchains", "kick-tires"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
PROFILES = ("smoke", "quick", "full", "sample")

MEASURING = toolchains.MEASURING
#: What the shortest session starts: services in Go and Java, JMeter, and wrk where a package has it.
SHORTEST = ("go", "jdk", "maven", "jmeter")
WRITING = ("latex",)
CHECKING = ("poppler",)
#: Brought where a package is in reach, done without elsewhere: what uses it says so and goes on.
WISHED = ("wrk", "cc")
#: Built from source once: k6 in a minute or two (the clients' loads are its, and without it the rest is measured),
#: metronome (the load generator that never sleeps) in a second.
BUILT = ("k6", "metronome")
#: sshd serves the tests of hosts over SSH, node runs the example service, chromium opens pages. Without
#: them their tests say that they were not run, which is a failure in CI.
WISHED_BY_TESTS = ("sshd", "node", "chromium")
#: vegeta and oha are built by `make generators` only; oha needs a compiler of Rust and more minutes.
GENERATORS = ("k6", "vegeta", "oha")
#: Built by the same command where its source is at hand, done without elsewhere.
WISHED_GENERATORS = ("wrk2", "metronome")


def needs(purpose: Purpose, profile: str) -> tuple[str, ...]:
    """Names of the outside tools (rows of `harness.toolchains.WANTED`) that a command cannot do without.

    Notebooks (`lab`, `workshop`) and the profile `sample` work on recorded data.
    """
    if purpose in ("lab", "workshop"):
        return ()
    if purpose == "generators":
        return ("go", *GENERATORS)
    if purpose == "toolchains":
        return ("go", "jdk")
    if purpose == "kick-tires":
        return SHORTEST
    if purpose == "paper":
        return WRITING if profile == "sample" else (*MEASURING, *WRITING)
    return (*MEASURING, *WRITING, *CHECKING)


def is_light(purpose: Purpose, profile: str) -> bool:
    """Whether a command only reads what was recorded: a part of the Python packages is enough for it."""
    return purpose in ("lab", "workshop") or (purpose == "paper" and profile == "sample")


def wishes(purpose: Purpose, profile: str, *, root: bool = False) -> tuple[str, ...]:
    """Names of the outside tools that a command can use and can do without.

    ``root``: only root can start a Docker daemon, so nobody else's tests ask for one.
    """
    if purpose == "generators":
        return WISHED_GENERATORS
    if purpose == "kick-tires":
        return ("wrk",)
    if not set(MEASURING) <= set(needs(purpose, profile)):
        return ()
    for_tests = () if purpose == "paper" else WISHED_BY_TESTS
    return (*WISHED, *BUILT, *for_tests, *(("dockerd",) if purpose == "test" and root else ()))

# SPDX-License-Identifier: Apache-2.0
"""What each command needs: re-analysing needs Python and LaTeX, measuring needs everything."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from . import toolchains

Purpose = Literal["all", "paper", "test", "lab", "workshop", "generators", "toolchains", "kick-tires"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
PROFILES = ("smoke", "quick", "full", "sample")


class Scope(NamedTuple):
    """Outside tools, rows of ``harness.toolchains.WANTED``, of a command.

    ``needs``: it cannot do without them. ``wishes``: brought where a package or a source is in reach; without them what
    uses them says so and goes on. ``light``: it only reads what was recorded, and a part of the Python packages is
    enough.
    """

    needs: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    light: bool = False


#: k6 is built in a minute or two, metronome in a second.
_MEASURING = ("wrk", "cc", "k6", "metronome")
#: sshd serves the tests of hosts over SSH, node runs the example service, chromium opens pages.
_OF_TESTS = ("sshd", "node", "chromium")
_ALL = Scope((*toolchains.MEASURING, "latex", "poppler"), (*_MEASURING, *_OF_TESTS))
_SCOPES: dict[Purpose, Scope] = {
    "all": _ALL,
    "test": _ALL,
    "paper": Scope((*toolchains.MEASURING, "latex"), _MEASURING),
    "lab": Scope(light=True),
    "workshop": Scope(light=True),
    # oha needs a compiler of Rust and more minutes
    "generators": Scope(("go", "k6", "vegeta", "oha"), ("wrk2", "metronome")),
    "toolchains": Scope(("go", "jdk")),
    "kick-tires": Scope(("go", "jdk", "maven", "jmeter"), ("wrk",)),
}


def scope_of(purpose: Purpose, profile: str, *, root: bool = False) -> Scope:
    """Return what a command needs, and can use; the paper of the profile ``sample`` is made of recorded data.

    ``root``: only root can start a Docker daemon, so nobody else's tests ask for one.
    """
    if purpose == "paper" and profile == "sample":
        return Scope(("latex",), light=True)
    scope = _SCOPES[purpose]
    return scope._replace(wishes=(*scope.wishes, "dockerd")) if purpose == "test" and root else scope

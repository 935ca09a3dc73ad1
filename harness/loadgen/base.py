# SPDX-License-Identifier: Apache-2.0
"""Base of all load generators' adapters, which are pure: one builds a command and reads an output, or refuses a load
that its tool cannot offer. Only the runner owns processes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Self

from pydantic import Field

from harness.errors import MissingTool, UnsupportedLoad
from harness.loadgen.flow import closed_s
from harness.model import ClosedLoad, Endpoint, Frozen, LoadProfile, LoadSummary, OpenLoad, Request

#: Every adapter leaves its order here, so that the folder explains itself later.
ORDER_FILE = "order.json"


class LoadSpec(Frozen):
    """One load to be offered: what, how, where, and the folder for everything the tool writes."""

    profile: LoadProfile
    requests: tuple[Request, ...] = Field(min_length=1)  # of one mix; of a flow the steps in order
    endpoint: Endpoint
    folder: Path  # absolute; exists and is empty before the command starts
    seed: int = 0


class LoadCommand(Frozen):
    """A command line, and the files that must stand in the folder before it starts."""

    argv: tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    after: tuple[tuple[str, ...], ...] = ()  # to run in the folder, one after another, when the load is over
    files: dict[str, str] = Field(default_factory=dict)  # file name -> content
    outputs: tuple[str, ...] = ()  # names of files in the folder that belong in the store when they exist
    stdout: str = "generator.stdout.txt"
    stderr: str = "generator.stderr.txt"
    expected_s: float = Field(gt=0)  # start to end; for progress and the time limit


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Load tools of a machine: tool -> its program (a jar for JMeter), a ``java``, CPUs. ``None``: absent."""

    programs: Mapping[str, Path | None] = field(default_factory=dict)
    java: Path | None = None
    n_cpus: int = 2


@dataclass(frozen=True, kw_only=True)
class LoadGenerator(ABC):
    """A load generator's adapter. ``program``: where the tool is; ``None``: not on this machine. ``name``: as in
    ``GeneratorName``."""

    program: Path | None = None
    name: str = ""
    how_to_get: ClassVar[str] = "make setup"
    #: For planning only: seconds to start and stop, requests a second of a quick service on a small machine, and rows
    #: that it writes in a second when the load is over.
    start_and_stop_s: ClassVar[float] = 2.0
    assumed_per_s: ClassVar[float] = 4000.0
    written_per_s: ClassVar[float] = math.inf
    #: Files that it leaves beside its order.
    outputs: ClassVar[tuple[str, ...]] = ()
    stdout: ClassVar[str] = "generator.stdout.txt"
    environment: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def of(cls, installed: Installed) -> Self:
        """Return the adapter of what is installed."""
        return cls(program=installed.programs.get(cls.name))

    @abstractmethod
    def supports(self, profile: LoadProfile, requests: tuple[Request, ...]) -> str | None:
        """Return why the tool cannot offer this load as it is meant, or ``None`` when it can."""

    @abstractmethod
    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        """Return the command line of a load that it supports."""

    @abstractmethod
    def read(self, folder: Path) -> LoadSummary:
        """Read what the tool left in ``folder``. Half-written last lines are counted, not fatal.

        Raises TrialFailure: there is nothing to read (outcome ``failed``).
        """

    def files(self, spec: LoadSpec) -> dict[str, str]:
        """Return name -> content of what stands in the folder before the command starts, the order apart."""
        return {}

    def after(self, spec: LoadSpec) -> tuple[tuple[str, ...], ...]:
        """Return the command lines to run when the load is over."""
        return ()

    def expected_s(self, profile: LoadProfile, requests: tuple[Request, ...]) -> float:
        """Return how long a load that it supports should take, start to end, in seconds. Needs no tool."""
        per_s = profile.rate_per_s if isinstance(profile, OpenLoad) else self.assumed_per_s
        offering_s = profile.whole_s
        if offering_s is None:
            assert isinstance(profile, ClosedLoad)  # an open loop has a duration
            offering_s = closed_s(profile, requests, per_s)
        return self.start_and_stop_s + offering_s * (1 + per_s / self.written_per_s)

    def require(self) -> None:
        """Raise MissingTool, with how to get it, where the tool is not on this machine."""
        if self.program is None or not self.program.exists():
            raise MissingTool(self.name, why="to offer the load", how_to_get=self.how_to_get)

    def command(self, spec: LoadSpec) -> LoadCommand:
        """Return the command for ``spec``; raises as ``refuse``."""
        refuse(self, spec.profile, spec.requests)
        return LoadCommand(
            argv=self.argv(spec),
            after=self.after(spec),
            environment=dict(self.environment),
            files={**self.files(spec), ORDER_FILE: order_text(spec)},
            outputs=(*self.outputs, ORDER_FILE),
            stdout=self.stdout,
            expected_s=self.expected_s(spec.profile, spec.requests),
        )


def order_text(spec: LoadSpec) -> str:
    """Return the order as it stands in the folder."""
    return spec.model_dump_json(by_alias=True, indent=1) + "\n"


def refuse(generator: LoadGenerator, profile: LoadProfile, requests: tuple[Request, ...]) -> None:
    """Raise UnsupportedLoad, with the reason of ``supports``, or MissingTool where the load cannot be offered here."""
    reason = generator.supports(profile, requests)
    if reason is not None:
        raise UnsupportedLoad(reason)
    generator.require()


_USERS = "use k6, jmeter or locust for"


def plain_only(
    tool: str,
    profile: LoadProfile,
    *,
    waits: bool = False,
    at_once: bool = False,
    loops: bool = True,
    even: bool = False,
) -> str | None:
    """Return why a tool that offers one load once cannot offer this one, or ``None``.

    Args:
        waits: by itself it sends late what found every connection busy, and counts from when it was due.
        at_once: its users begin together and never pause. loops: it counts the requests of each user.
        even: its arrivals are evenly spaced.
    """
    if profile.renew_s is not None:
        return f"{tool} does not renew connections by their age: use k6 for renew_s = {profile.renew_s:g}"
    if not isinstance(profile, OpenLoad):
        refused = (
            ("knows no stages of users", "use k6", profile.stages),
            ("cannot count requests of each user", f"{_USERS} loops", profile.loops and not loops),
            ("opens all connections at once", f"{_USERS} ramp_up_s", at_once and profile.ramp_up_s),
            ("does not wait between requests", f"{_USERS} think_time_s", at_once and profile.think_time_s),
        )
        return next((f"{tool} {what}: {instead}" for what, instead, holds in refused if holds), None)
    if even and (uneven := even_only(tool, profile)) is not None:
        return uneven
    if profile.parts > 1:
        return f"{tool} offers one load and ends: use k6 for parts = {profile.parts}, or same_process"
    if profile.busy == "wait" and not waits:
        return f"{tool} makes one more connection when all are busy: use k6, oha, wrk2 or metronome for busy = wait"
    return None


def even_only(tool: str, profile: OpenLoad) -> str | None:
    """Return why a tool whose arrivals are evenly spaced cannot offer this load, or ``None``."""
    if profile.arrivals == "constant":
        return None
    return f"{tool}'s arrivals are evenly spaced: set arrivals = constant, or use jmeter or metronome for poisson"

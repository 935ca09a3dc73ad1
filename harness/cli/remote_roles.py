# SPDX-License-Identifier: Apache-2.0
"""What a far machine can be in a session: where services run, where the load comes from, where a database stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.backing.postgres import find_remote_home
from harness.errors import HostError, InputError, MissingTool
from harness.hosts.ssh.host import SshHost
from harness.hosts.ssh.settings import HostSettings
from harness.model.load_tools import BY_NAME, run_as
from harness.session.remote_hosts import words_there
from harness.toolchains import JAVA_MINIMUM, JAVA_REFERENCE, Jdk

#: Load generators that a far machine can run; those that want a JDK come last.
GENERATORS = run_as("program", "python", "java")


@dataclass(frozen=True, kw_only=True)
class Ability:
    """``reason``: why it cannot, in one line; ``None``: it can. ``found``: with what."""

    reason: str | None = None
    found: str | None = None

    @property
    def fit(self) -> bool:
        return self.reason is None


def java(jdks: Sequence[Jdk]) -> Ability:
    """Whether a JDK there is new enough for the services."""
    get = f"apt-get install -y openjdk-{JAVA_REFERENCE}-jdk-headless, or any of at least {JAVA_MINIMUM}"
    fit = [jdk for jdk in jdks if jdk.major >= JAVA_MINIMUM]
    if fit:
        return Ability(found=fit[0].version)
    if jdks:
        newest = max(jdks, key=lambda jdk: jdk.major).version
        text = (
            f"its newest JDK is {newest} and Java services need {JAVA_MINIMUM}: they cannot run there; {get}"
        )
        return Ability(reason=text)
    return Ability(reason=f"no JDK: Java services cannot run there; {get}")


def listening(host: SshHost, settings: HostSettings) -> Ability:
    """Whether services can listen at ``service_address`` there."""
    address = settings.service_address
    try:
        host.free_port(address)
    except HostError:
        return Ability(
            reason=f"service_address {address} is none of its addresses: nothing can listen there; "
            f"`ip -brief address` on {host.name} tells which it has"
        )
    return Ability(found=address)


def forwarding(host: SshHost) -> Ability:
    """Whether what listens to that machine alone can be asked through the connection."""
    return Ability(reason=host.why_no_forwarding())


def database(host: SshHost) -> Ability:
    """Whether there is a PostgreSQL, and a user that it may run as."""
    try:
        return Ability(found=find_remote_home(host).version)
    except (MissingTool, InputError, HostError) as problem:
        return Ability(reason=f"no database there: {problem}")


def generators(host: SshHost) -> dict[str, Ability]:
    """Which load generators that machine has what they need of. Nothing is sent for the answer."""
    results: dict[str, Ability] = {}
    for name in GENERATORS:
        wanted: dict[str, Path | None] = {name: Path(name)} if BY_NAME[name].runs_as == "program" else {}
        try:
            words_there(host, name, wanted, None)
            results[name] = Ability(found=name)
        except MissingTool as problem:
            results[name] = Ability(reason=str(problem))
    return results

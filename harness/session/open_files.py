# SPDX-License-Identifier: Apache-2.0
"""Open files: what this machine allows one process, and the loads that need more, said before they are offered.

A connection is a descriptor at either end. Beyond the limit a service refuses and a generator fails, which looks
like overload and is none.
"""

from __future__ import annotations

import resource
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.errors import UnsupportedLoad
from harness.model import ClosedLoad, Configuration, Implementation

#: Beside connections: libraries, logs, pipes, and what a runtime opens for itself.
SPARE = 500
#: Far above what any load here needs; a limit of a thousand million makes some programs slow to start.
ENOUGH = 1_048_576
_SYSTEM_LIMIT = Path("/proc/sys/fs/nr_open")


def allowed() -> int:
    """Return how many files a process started here may have open: the hard limit, to which ours is raised."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY:
        return hard
    try:
        return int(_SYSTEM_LIMIT.read_text())
    except OSError:
        return ENOUGH


def raise_limit() -> int:
    """Raise our soft limit, which what we start inherits, to what is allowed; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(allowed(), ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


def needed(configuration: Configuration, implementation: Implementation) -> int:
    """Return how many files the service may come to have open at once under the configuration's load.

    A service without a limit to its own connections (``pool_size``) may open one for every request under way.
    """
    load = configuration.load
    if load is None:
        return SPARE
    profile = load.profile
    callers = profile.users if isinstance(profile, ClosedLoad) else profile.connections
    pool = configuration.variant.settings.get("pool_size")
    own = 0 if not implementation.needs else pool if isinstance(pool, int) else callers
    return callers + own + SPARE


def too_large(
    planned: Iterable[Configuration], implementations: Mapping[str, Implementation], limit: int
) -> dict[str | None, UnsupportedLoad]:
    """Return load name -> why it cannot be offered where a process may have ``limit`` files open."""
    problems: dict[str | None, UnsupportedLoad] = {}
    for configuration in planned:
        wanted = needed(configuration, implementations[configuration.variant.implementation])
        if wanted > limit and configuration.load_name not in problems:
            problems[configuration.load_name] = UnsupportedLoad(_words(configuration, wanted, limit))
    return problems


def _words(configuration: Configuration, wanted: int, limit: int) -> str:
    load = configuration.load
    profile = None if load is None else load.profile
    callers = (
        f"{profile.users} users" if isinstance(profile, ClosedLoad) else f"load {configuration.load_name}"
    )
    return (
        f"{callers} may need {wanted} open files in {configuration.variant_name}, and the hard limit here "
        f"(RLIMIT_NOFILE) is {limit}: raise it as root (ulimit -Hn {wanted}), or offer fewer users"
    )

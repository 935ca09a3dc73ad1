# SPDX-License-Identifier: Apache-2.0
"""What the Tab key offers.

Completion is silent when there is nothing to offer: a shell must not see an error here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable

from harness.errors import RematchError
from harness.project import EXPERIMENTS, LEDGERS, experiment_paths, find_root
from harness.publish.generated import read_values

PROFILES = ("smoke", "quick", "full")


def offered(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes the beginning of a word by these names; nothing where they cannot be told."""

    def complete(incomplete: str) -> list[str]:
        try:
            return [name for name in names() if name.startswith(incomplete)]
        except RematchError:
            return []

    return complete


@offered
def experiments() -> Iterable[str]:
    """Names of the experiments."""
    return experiment_paths(find_root())


@offered
def measured() -> Iterable[str]:
    """Names of the experiments that have a session, measured here or bundled."""
    raw = find_root() / "data" / "raw"
    files = (path for base in (raw, raw / "bundled") for path in base.glob("*/*/session.json"))
    return sorted({path.parent.parent.name for path in files})


@offered
def metrics() -> Iterable[str]:
    """Names of the metrics that ``results`` knows."""
    from harness.evidence.metrics import METRICS

    return (metric.name for metric in METRICS)


@offered
def profiles() -> Iterable[str]:
    """Names of the profiles."""
    return PROFILES


@offered
def hosts() -> Iterable[str]:
    """Names of the hosts that are described."""
    from harness.hosts.ssh.settings import host_names

    return host_names(find_root())


@offered
def keys() -> Iterable[str]:
    """Keys of the published numbers."""
    return sorted(read_values(find_root()))


@offered
def verifications() -> Iterable[str]:
    """Names of the simulations behind ``verify``."""
    from harness.verify.page import ROWS

    return (*ROWS, "all")


@offered
def claims() -> Iterable[str]:
    """Names of the claims of both ledgers."""
    return (name for ledger in LEDGERS for name in _named_in(ledger, "claims"))


def _named_in(experiment: str, table: str) -> Iterable[str]:
    """Keys of one table of an experiment's file; none of a file that cannot be read."""
    try:
        text = (find_root() / EXPERIMENTS / f"{experiment}.toml").read_text("utf-8")
        return tuple(tomllib.loads(text).get(table, {}))
    except (OSError, ValueError):
        return ()

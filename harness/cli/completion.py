# SPDX-License-Identifier: Apache-2.0
"""What the Tab key offers. Silent when there is nothing to offer: a shell must not see an error here."""

from __future__ import annotations

from harness.cli.published import published_values
from harness.errors import RematchError
from harness.project import EXPERIMENTS, LEDGERS, experiment_paths, find_root

PROFILES = ("smoke", "quick", "full")


def experiments(incomplete: str) -> list[str]:
    """Names of the experiments that begin like ``incomplete``."""
    try:
        names = experiment_paths(find_root())
    except RematchError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def measured(incomplete: str) -> list[str]:
    """Names of the experiments that have a session, measured here or bundled."""
    try:
        raw = find_root() / "data" / "raw"
    except RematchError:
        return []
    names = {
        path.parent.parent.name for base in (raw, raw / "bundled") for path in base.glob("*/*/session.json")
    }
    return sorted(name for name in names if name.startswith(incomplete))


def metrics(incomplete: str) -> list[str]:
    """Names of the metrics that ``results`` knows."""
    from harness.evidence.results import METRICS

    return [metric.name for metric in METRICS if metric.name.startswith(incomplete)]


def variants(incomplete: str) -> list[str]:
    """Names of all variants of all experiments."""
    import tomllib

    names: set[str] = set()
    for name in experiments(""):
        try:
            text = (find_root() / "harness" / "experiments" / f"{name}.toml").read_text("utf-8")
            names |= set(tomllib.loads(text).get("variants", {}))
        except (OSError, ValueError, RematchError):
            continue
    return sorted(name for name in names if name.startswith(incomplete))


def profiles(incomplete: str) -> list[str]:
    return [name for name in PROFILES if name.startswith(incomplete)]


def hosts(incomplete: str) -> list[str]:
    """Names of the hosts that are described."""
    from harness.hosts.ssh.settings import host_names

    try:
        names = host_names(find_root())
    except RematchError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def keys(incomplete: str) -> list[str]:
    """Keys of the published numbers."""
    try:
        values = published_values(find_root())
    except RematchError:
        return []
    return sorted(key for key in values if key.startswith(incomplete))


def verifications(incomplete: str) -> list[str]:
    """Names of the simulations behind ``verify``."""
    from harness.verify.page import ROWS

    return [name for name in (*ROWS, "all") if name.startswith(incomplete)]


def claims(incomplete: str) -> list[str]:
    """Names of the claims of both ledgers."""
    import tomllib

    names: list[str] = []
    for ledger in LEDGERS:
        try:
            text = (find_root() / EXPERIMENTS / f"{ledger}.toml").read_text("utf-8")
            names += tomllib.loads(text).get("claims", {})
        except (OSError, ValueError, RematchError):
            continue
    return [name for name in names if name.startswith(incomplete)]

# SPDX-License-Identifier: Apache-2.0
"""What the Tab key offers, and published values by key, read without what publishing loads.

Completion is silent when there is nothing to offer: a shell must not see an error here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness.errors import InputError, RematchError
from harness.project import EXPERIMENTS, LEDGERS, experiment_paths, find_root

PROFILES = ("smoke", "quick", "full")
GENERATED = Path("paper") / "generated"
#: Those that the paper cites; they stand in the files of the notebooks, too.
_CITED = "values.json"


def published_values(root: Path) -> dict[str, dict[str, Any]]:
    """Return every value that a notebook has published; empty: none has.

    Raises:
        InputError: a file is damaged.
    """
    values: dict[str, dict[str, Any]] = {}
    for file in sorted((root / GENERATED).glob("*.json")):
        try:
            values |= json.loads(file.read_text("utf-8"))["values"] if file.name != _CITED else {}
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"cannot be read ({error})", file=file) from None
    return values


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
    return sorted(published_values(find_root()))


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

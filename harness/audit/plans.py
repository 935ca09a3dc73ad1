# SPDX-License-Identifier: Apache-2.0
"""The loads behind the tables of ``data/published``, as their articles and load plans say; the tables do not repeat
them in each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.audit.figures import Plan
from harness.errors import InputError

#: Of the project's root.
FOLDER = Path("data") / "published"


@dataclass(frozen=True, kw_only=True)
class KnownPlan:
    """One table's load. ``loops_of_a_label``: how often a user sends each of the labels that a total sums up.

    ``notes``: what the articles say that explains a contradiction, or keeps a law from being held against them.
    """

    plan: Plan
    loops_of_a_label: int | None = None
    notes: tuple[str, ...] = ()


_STRINGS = KnownPlan(plan=Plan(users=100, loops=10_000, ramp_up_s=10.0))
_BANK = KnownPlan(plan=Plan(loops=3, ramp_up_s=60.0))
_CLIENTS = KnownPlan(
    plan=Plan(rate_per_s=2000.0),
    notes=(
        "open loop: latencies count from when a request was due, so more of them than connections may be under way",
    ),
)
_KNOWN: Mapping[str, KnownPlan] = MappingProxyType(
    {
        "strings-rounds": _STRINGS,
        "strings-i9": _STRINGS,
        "strings-round3": _STRINGS,
        "bank-original": _BANK,
        "bank-2019": _BANK,
        "bank-rematch": KnownPlan(
            plan=Plan(loops=7, ramp_up_s=60.0),
            loops_of_a_label=1,
            notes=(
                "percentiles of the total are of the last 20,000 samples alone (JMeter's default), those of a label of "
                "all its samples",
            ),
        ),
        "clients-hello": _CLIENTS,
        "clients-db": _CLIENTS,
        "clients-wrk2": _CLIENTS,
        "clients-k6": KnownPlan(plan=Plan(users=4)),
    }
)


def known_plan(path: Path) -> KnownPlan | None:
    """Return the load behind one of the project's own tables; ``None``: it is another file."""
    if path.resolve().parent.parts[-2:] != FOLDER.parts:
        return None
    return _KNOWN.get(path.stem)


def published_tables(root: Path) -> tuple[Path, ...]:
    """Return the project's own tables.

    Raises:
        InputError: there are none.
    """
    results = tuple(sorted((root / FOLDER).glob("*.csv")))
    if not results:
        raise InputError("holds no published tables", file=root / FOLDER, allowed="the tables of the project")
    return results

# SPDX-License-Identifier: Apache-2.0
"""What the runner sees of a backing service: had fresh for a trial, watched, questioned, stopped. Always stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import Field

from harness.errors import TrialFailure
from harness.model import BackingName, BackingRecord, BackingSettings, Frozen, InvariantReading, Outcome

#: Statistics of a database, read while it runs.
WATCH_FILE = "database.csv"


class BackingNeed(Frozen):
    """What is to be backed: a workload, by its contract, with these settings."""

    workload: str
    contract: Path
    settings: BackingSettings = BackingSettings()
    cpus: tuple[int, ...] | None = Field(default=None, description="pinned to these; None: not pinned")


class BackingService(Protocol):
    """A running backing service, lent to one trial."""

    @property
    def record(self) -> BackingRecord:
        """What is known of it now; after ``stop`` with exit code and signal. It never holds a password."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What an instance is told, by environment variables. It may hold a password."""

    @property
    def cpu_at_launch_s(self) -> float:
        """CPU time on the process's account before the program itself ran; to be taken off readings."""

    def ended(self) -> str | None:
        """Return how it ended by itself, in words, or ``None`` while it runs. Never blocks."""

    def invariants(self) -> tuple[InvariantReading, ...]:
        """Return what the contract says must hold, as it is now. Ask when nobody works with it any more. Raises
        TrialFailure: it does not answer; InputError: the contract's question is wrong."""

    def stored(self, *, over: bool) -> dict[str, int]:
        """Return how many traces of each kind of request the database holds now; empty: the contract counts none, or
        it is no database. ``over``: nobody works with it any more; who still leaves is waited for. Raises as
        ``invariants``."""

    def stop(self) -> BackingRecord:
        """End the loan: what it wrote lies in the trial's folder, and it has ended unless it lives on for the next
        trial. Idempotent. Raises OSError: its log could not be kept; it has ended all the same."""


class BackingSource(Protocol):
    """Where backing services of one kind come from."""

    @property
    def name(self) -> BackingName: ...

    def unavailable(self, need: BackingNeed) -> str | None:
        """Return why it cannot be had here, or ``None``. Starts nothing."""

    def prepare(self, need: BackingNeed) -> None:
        """Do once what takes long (build, initialise), so that ``start`` is quick. Raises RematchError: it cannot be
        done."""

    def start(self, need: BackingNeed, folder: Path) -> BackingService:
        """Return a service that answers; its files go into ``folder``. Raises TrialFailure: it did not come up;
        InputError: there is no room for it, or the contract's files are wrong."""

    def close(self) -> tuple[int, ...]:
        """End whatever lives longer than a trial; return the ids of the processes that ended."""


def refuse_ended(services: Sequence[BackingService], when: str) -> None:
    """Refuse services that have ended by themselves. Raises TrialFailure: names one, and how it ended."""
    for service in services:
        how = service.ended()
        if how is not None:
            raise TrialFailure(Outcome.FAILED, f"{how}, {when}")


@contextlib.contextmanager
def running(
    names: Sequence[BackingName],
    sources: Mapping[BackingName, BackingSource],
    need: BackingNeed,
    folder: Path,
) -> Iterator[dict[str, str]]:
    """Have fresh services for as long as something beside the trials needs them; yield the environment."""
    fresh = need.model_copy(update={"settings": need.settings.model_copy(update={"wiped": True})})
    environment: dict[str, str] = {}
    with contextlib.ExitStack() as cleanup:
        for name in names:
            sources[name].prepare(fresh)
            service = sources[name].start(fresh, folder)
            cleanup.callback(service.stop)
            environment |= service.environment
        yield environment

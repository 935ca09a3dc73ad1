# SPDX-License-Identifier: Apache-2.0
"""One variant tried with some memory: asked from within the harness, or under the load's own generator.

The second way is a trial like any other, only shorter, and nothing of it is kept: whatever a trial brings about that
nobody thought of (a generator that stalls, and then sends at once what became due meanwhile) is in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import MemoryFitFailed, TrialFailure
from harness.memory_sizing.probe import Asked, ProbeSpec, held_bytes, over_limit
from harness.memory_sizing.spec import FitSpec
from harness.model import BuildRecord, HeapProbe, Outcome, TrialRecord, Variant
from harness.runner import TrialContext, TrialSpec
from harness.runner.outcome import kinds_of_errors
from harness.runner.short_trial import rehearse, unplanned

MIB = 2**20
#: What another program on the machine may bring about as well as too small a heap.
_TOO_SLOW = (Outcome.OVERLOADED, Outcome.TIMED_OUT)


@dataclass(kw_only=True)
class Attempts:
    """Tries variants of ``order``. ``builds``: build name -> what was built."""

    order: FitSpec
    parts: TrialContext
    builds: Mapping[str, BuildRecord]
    n_trials: int = field(default=0, init=False)

    def heap(self, name: str, heap_mib: int) -> HeapProbe:
        """Have a variant with a heap, or a Go variant with a limit, asked from within the harness."""
        began_s, problem = time.monotonic(), None
        searched = self.order.searched
        if self._has_limit(name):
            searched = replace(searched, keeps_to_bytes=heap_mib * MIB)
        try:
            self._asked(name, self.bounded_by(name, heap_mib), searched)
        except TrialFailure as failure:
            problem = failure
        return HeapProbe(
            heap_mib=heap_mib,
            worked=problem is None,
            reason=None if problem is None else str(problem),
            fell_behind=problem is not None and problem.outcome == Outcome.OVERLOADED,
            took_s=time.monotonic() - began_s,
        )

    def heap_under_load(self, name: str, heap_mib: int) -> HeapProbe:
        """Give a variant with a heap or limit what a trial would, by the load's own generator; another schedule each
        time."""
        began_s = time.monotonic()
        self.n_trials += 1
        metrics: list[str] = []

        def look(folder: Path) -> None:
            metrics.extend(file.read_text("utf-8") for file in folder.glob("boundary-after-load.prom"))

        record = rehearse(self._trial(name, self.bounded_by(name, heap_mib)), self.parts, look=look)
        reason = fault(record)
        if reason is None and self._has_limit(name):
            reason = over_limit(next(iter(metrics), None), heap_mib * MIB)
        return HeapProbe(
            heap_mib=heap_mib,
            worked=reason is None,
            reason=reason,
            fell_behind=reason is not None and was_slow(record),
            took_s=time.monotonic() - began_s,
            asked_by=self.order.load.generator,
        )

    def bounded_by(self, name: str, mib: int) -> dict[str, str]:
        """Return the runtime setting that gives a variant so much memory."""
        return {"gomemlimit": f"{mib}MiB"} if self._has_limit(name) else {"heap_max": f"{mib}m"}

    def _has_limit(self, name: str) -> bool:
        return self.order.experiment.variants[name].runtime.limit_multiple is not None

    def held_bytes(self, name: str, settings: Mapping[str, str]) -> int:
        """Return what a variant holds, resident, when it was asked for a while.

        Raises:
            MemoryFitFailed: it does not do its work.
        """
        try:
            return self._asked(name, settings, self.order.held_under)
        except TrialFailure as failure:
            how = ", ".join(f"{key} = {value}" for key, value in settings.items()) or "as defined"
            raise MemoryFitFailed(
                f"the memory of {name} ({how}) cannot be read: {failure}; "
                "see that this variant runs here, then start again"
            ) from failure

    def _asked(self, name: str, settings: Mapping[str, str], asked: Asked) -> int:
        variant = self._variant(name, settings)
        return held_bytes(
            ProbeSpec(
                name=name,
                implementation=self.order.implementations[variant.implementation],
                variant=variant,
                build=self.builds[variant.build_name],
                asked=asked,
                folder=self.order.folder,
            ),
            self.parts,
        )

    def _trial(self, name: str, settings: Mapping[str, str]) -> TrialSpec:
        order, variant = self.order, self._variant(name, settings)
        configuration = order.configuration.model_copy(
            update={"variant_name": name, "variant": variant, "load": order.tried, "warm_up": None}
        )
        return TrialSpec(
            planned=unplanned("memory", configuration),
            experiment=order.experiment.name,
            session_id="memory",
            implementation=order.implementations[variant.implementation],
            build=self.builds[variant.build_name],
            generator=order.generator,
            requests=order.requests,
            cases=order.cases,
            folder=order.folder,
            contract=order.contract,
            seed=order.seed + self.n_trials,
            limits=order.limits,
        )

    def _variant(self, name: str, settings: Mapping[str, str]) -> Variant:
        variant = self.order.experiment.variants[name]
        return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=dict(settings))})


def fault(record: TrialRecord) -> str | None:
    """Return why a trial's service did not bear its load; ``None``: all arrivals were answered, and rightly.

    A trial with a few errors is kept, flagged. A heap in which there are any is not enough.
    """
    if record.outcome != Outcome.OK:
        return f"{record.outcome.value}: {record.reason}"
    load = record.load
    if load is not None and load.n_errors:
        return f"errors: {load.n_errors} of {load.n_requests} requests went wrong{kinds_of_errors(load)}"
    if load is not None and "arrivals_dropped" in record.flags:
        return f"overloaded: {load.n_dropped} arrivals were never sent, or answered too late"
    return None


def was_slow(record: TrialRecord) -> bool:
    """Whether all that was wrong with a trial is that something was too slow."""
    n_errors = 0 if record.load is None else record.load.n_errors
    return not n_errors and (record.outcome in _TOO_SLOW or "arrivals_dropped" in record.flags)

# SPDX-License-Identifier: Apache-2.0
"""How fast a trial's CPUs were while its load ran, and which trials ran at another speed than a session's faster ones.

A hypervisor gives two guests the two hardware threads of one core. Either is then a third slower while the other works,
and neither steal nor pressure says so; a fixed calculation, timed on each CPU while the load runs, does
(:mod:`harness.agent.cpu_speed`). A trial at another speed compares machines, so no estimate uses it. The rule sees no
metric of any service, and it is the same in both directions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

import pandas as pd

from harness.model import TrialRecord
from harness.model.digits import whole_percent

#: A trial whose CPUs took longer or shorter by more than this, as a share of the session's faster trials.
SPEED_DIFFERS = 0.10
#: Of fewer trials nobody can say what is usual.
FEWEST_TRIALS = 8
SERVICE, GENERATOR = "service_step_s", "generator_step_s"
_WHOSE = {SERVICE: "the service's", GENERATOR: "the generator's"}
#: At the beginning of the reason.
OTHER_SPEED = "machine"


def speed_columns(record: TrialRecord) -> dict[str, object]:
    """Return the CPU time of a step of the fixed calculation, mean over readings, on the CPUs of service and generator.

    None where it was not read: before 2026-11-27, in a duet, without a load, and where no thread can be pinned.
    """
    read = {one.cpu: one.step_ns_mean * 1e-9 for one in record.cpu_speeds}
    if not read:
        return {}
    service = record.instance.cpu_affinity if record.instance is not None else ()
    generator = record.generator.cpu_affinity if record.generator is not None else ()
    return {SERVICE: _mean(read, service), GENERATOR: _mean(read, generator)}


def _mean(read: dict[int, float], cpus: Sequence[int]) -> float | None:
    found = [read[cpu] for cpu in cpus or read if cpu in read]
    return fmean(found) if found else None


def exclude_other_speeds(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Exclude the trials of one session that ran at another speed than its faster ones, in place, and return them.

    The speed of the faster ones is the lower quartile of the CPU times under the same load: with the median, a session
    of which more than half was slowed would keep the slowed trials (``rematch verify speed``).

    The CPUs of service and generator are judged apart, by the same rule; those of the generator only where the service
    was not the limit, because its latencies have the generator's time in them there. The machine bounded such a trial,
    whatever its shares say. Where fewer than ``FEWEST_TRIALS`` have a reading, none is excluded.
    """
    found = []
    alike: dict[object, list[dict[str, object]]] = defaultdict(list)
    for row in rows:
        alike[row["load_name"]].append(row)
    for group in alike.values():
        usual_s = {column: _usual(group, column) for column in _WHOSE}
        for row in group:
            judged = (SERVICE,) if row.get("bound_by") == "service" else (SERVICE, GENERATOR)
            why = next(filter(None, (_why(row, column, usual_s[column]) for column in judged)), None)
            if why is not None and not row["excluded"]:
                row |= {
                    "excluded": True,
                    "exclusion_reason": f"{OTHER_SPEED}: {why}",
                    "bound_by": "machine",
                    "bound_why": why,
                }
                found.append(row)
    return found


def _usual(rows: Sequence[dict[str, object]], column: str) -> float | None:
    read = [value for row in rows if isinstance(value := row.get(column), float)]
    return faster_step_s(read) if len(read) >= FEWEST_TRIALS else None


def faster_step_s(read: Iterable[float]) -> float:
    """Return the lower quartile of these CPU times, of which there is one at least: that of the faster trials."""
    ordered = sorted(read)
    return ordered[len(ordered) // 4]


def at_other_speed(trials: pd.DataFrame) -> pd.Series[bool]:
    """Tell which trials were excluded for the speed of their CPUs."""
    if "exclusion_reason" not in trials:
        return pd.Series(False, index=trials.index)
    return trials["exclusion_reason"].astype("str").str.startswith(f"{OTHER_SPEED}:", na=False)


def with_every_speed(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with those kept that were left out for the speed of their CPUs; what bounded them stays."""
    other = at_other_speed(trials)
    return trials.assign(
        excluded=trials["excluded"].astype(bool) & ~other,
        exclusion_reason=trials["exclusion_reason"].mask(other),
    )


def _why(row: dict[str, object], column: str, usual_s: float | None) -> str | None:
    """Return in words that a trial's CPUs had another speed; ``None``: they had not, or it is not known."""
    step_s = row.get(column)
    if usual_s is None or not isinstance(step_s, float):
        return None
    ratio = step_s / usual_s
    if 1 / (1 + SPEED_DIFFERS) <= ratio <= 1 + SPEED_DIFFERS:
        return None
    other = "longer" if ratio > 1 else "shorter"
    return (
        f"{_WHOSE[column]} CPUs took {whole_percent(abs(ratio - 1))} {other} for the same work than in the "
        "session's faster trials"
    )


__all__ = [
    "FEWEST_TRIALS",
    "SERVICE",
    "SPEED_DIFFERS",
    "at_other_speed",
    "exclude_other_speeds",
    "faster_step_s",
    "speed_columns",
    "with_every_speed",
]

# SPDX-License-Identifier: Apache-2.0
"""How many trials carry which flag, by experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.evidence import Evidence
from harness.model import Flag
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher

#: What a flag is called at the head of a column; when it is set stands in ``harness.runner.outcome``.
FLAG_WORDS: dict[Flag, str] = {
    "generator_bottleneck": "generator at its limit",
    "generator_late": "generator late",
    "headroom_unknown": "generator's limit unknown",
    "errors_seen": "errors",
    "arrivals_dropped": "arrivals dropped",
    "throttled": "throttled",
    "service_waited": "service waited for CPUs",
    "noisy_machine": "machine noisy",
    "shared_cores": "cores shared",
    "killed_on_stop": "killed at the end",
    "limits_not_enforced": "limits not enforced",
    "sampling_gap": "gap in the samples",
    "few_requests": "under 1,000 requests",
    "clock_skew": "clocks apart",
    "still_compiling": "JVM still compiling",
}


def flags_table(publisher: Publisher, opened: Sequence[Evidence]) -> Published:
    """Publish the table ``session.flags``: a row per experiment, a column per flag that any trial carries.

    Units: trials. A flagged trial stays in the results unless it is excluded for another reason.
    """
    counts = {evidence.experiment: flag_counts(evidence) for evidence in opened}
    seen = [flag for flag in FLAG_WORDS if any(found[flag] for found in counts.values())]
    rows: list[Mapping[str, Cell] | None] = [
        {
            "experiment": evidence.experiment,
            "made": len(evidence.trials),
            "kept": int((~evidence.trials["excluded"]).sum()),
            **{flag: counts[evidence.experiment][flag] for flag in seen},
        }
        for evidence in opened
    ]
    return publisher.table(
        "session.flags",
        {"experiment": "experiment", "made": "made", "kept": "kept", **{flag: FLAG_WORDS[flag] for flag in seen}},
        rows,
        caption="Trials made, kept, and flagged, by experiment; a trial may carry several flags. "
        "Flagged trials are among the results.",
        wide=True,
        right=("made", "kept", *seen),
    )  # fmt: skip


def flag_counts(evidence: Evidence) -> dict[Flag, int]:
    """Return how many of the trials carry each flag, excluded ones too."""
    flags = [set(text.split()) for text in evidence.trials["flags"].fillna("")]
    return {flag: sum(flag in found for found in flags) for flag in FLAG_WORDS}

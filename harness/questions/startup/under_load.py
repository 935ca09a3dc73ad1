# SPDX-License-Identifier: Apache-2.0
"""Memory under the published load: of the main cell of ``strings-rounds``, measured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.evidence.requests import pauses_of_first_trials
from harness.publish.cells import Cell
from harness.publish.results import Absent, Leaf, for_each, means
from harness.questions.startup.figures import resident_memory

AFTER = "rss_after_bytes"
_COLUMNS = ("rss_before_bytes", AFTER, "rss_max_bytes", "pss_after_bytes")


def loaded_trials(loaded: Evidence | None) -> pd.DataFrame | None:
    """Return the trials without a log line after a thousand calls; ``None``: not measured."""
    return None if loaded is None else loaded.cell(**loaded.main_cell(logging="off", warm_up="calls-1000"))


def memory_timeline(loaded: Evidence) -> Figure:
    """Draw the memory of the first trial of each variant, with the phases of one and the pauses of all."""
    trials = loaded_trials(loaded)
    assert trials is not None
    return resident_memory(
        loaded.samples(trials),
        trials,
        phases=loaded.example_phases(trials),
        garbage_collections=pauses_of_first_trials(loaded, trials),
    )


def memory_ratios(loaded: Evidence | None) -> Sequence[Comparison]:
    """Return the comparisons of memory after the load with the reference; none: not measured."""
    trials = loaded_trials(loaded)
    return () if loaded is None or trials is None else compare(trials, AFTER, reference=loaded.reference)


def memory_after(loaded: Evidence | None, variant: str) -> Mapping[str, Leaf]:
    """Return the mean memory of a variant after the load."""
    trials = loaded_trials(loaded)
    return for_each([variant], {}, Absent(unit="B")) if trials is None else means(trials, [variant], AFTER)


def memory_rows(loaded: Evidence | None) -> Sequence[Mapping[str, Cell] | None]:
    """Return the rows of a table of memory by phase; none: not measured."""
    trials = loaded_trials(loaded)
    return [] if loaded is None or trials is None else loaded.rows(trials, list(_COLUMNS))

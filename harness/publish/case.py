# SPDX-License-Identifier: Apache-2.0
"""One experiment in a notebook that speaks of several: what was measured of it, or that nothing was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.analysis.stats.comparisons import Comparison
from harness.evidence import Evidence
from harness.evidence.load_response import describe_calibration, describe_warm_up, load_response
from harness.evidence.opening import find_evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.requests import definition_of, reference_of
from harness.figures.style import describe
from harness.model import Experiment
from harness.publish.results import NO_TEXT, Leaf


@dataclass(frozen=True)
class Case:
    """An experiment and its evidence; ``None``: it was not measured. Tables as in ``docs/data.md``."""

    experiment: str
    evidence: Evidence | None

    @cached_property
    def definition(self) -> Experiment:
        """The experiment as it is defined today."""
        return definition_of(self.experiment)

    @property
    def variants(self) -> dict[str, str]:
        """Every variant of the definition with its label, measured or not."""
        return self.definition.labels if self.evidence is None else self.evidence.labels_of(self.definition)

    @property
    def reference(self) -> str:
        """The variant that the others are compared with."""
        return reference_of(self.evidence, self.definition)

    @property
    def others(self) -> list[str]:
        """The variants of the definition that are compared with the reference."""
        return [name for name in self.definition.variants if name != self.reference]

    @property
    def trials(self) -> pd.DataFrame | None:
        """One row per trial, excluded ones too."""
        return None if self.evidence is None else self.evidence.trials

    @cached_property
    def response(self) -> pd.DataFrame | None:
        """The trials with what the load did to each (see ``load_response``)."""
        return load_response(self.evidence)

    @property
    def note(self) -> str:
        """What a caption says of its trials."""
        return describe(self.trials)

    @property
    def warm_up(self) -> Leaf:
        """How every trial was warmed up before its load."""
        return NO_TEXT if self.evidence is None else describe_warm_up(self.evidence)

    def cell(self, **levels: str) -> pd.DataFrame | None:
        """Return the trials at these levels."""
        return None if self.evidence is None else self.evidence.cell(**levels)

    def latencies(self, **levels: str) -> Mapping[str, Sequence[NDArray[np.float64]]]:
        """Return variant -> one array of latencies in seconds per trial at these levels; empty: there are none."""
        return {} if self.evidence is None else self.evidence.latencies(self.evidence.cell(**levels))

    def has_one(self, factor: str) -> bool:
        """Tell whether all trials have the same level of a factor."""
        return self.trials is not None and bool(self.trials[factor].nunique() == 1)

    def last_cell(self, **levels: str) -> Mapping[str, str]:
        """Return the last cell that was measured with these levels; empty: none was."""
        return {} if self.evidence is None else self.evidence.last_cell(**levels)

    def ratios(self, metric: str, **levels: str) -> Sequence[Comparison]:
        """Return the comparisons with the reference in each cell at these levels."""
        if self.evidence is None:
            return ()
        return self.evidence.compared(metric, **levels)


C = TypeVar("C", bound=Case)


class Cases(dict[str, C]):
    """Several experiments of one question by their names."""

    @classmethod
    def open(cls, case: type[C], settings: StageParameters, experiments: Sequence[str]) -> Cases[C]:
        """Open what was measured of each experiment, and print which sessions that is."""
        return cls({name: case(name, find_evidence(settings, name)) for name in experiments})

    @property
    def evidence(self) -> list[Evidence]:
        """What was measured at all."""
        return [case.evidence for case in self.values() if case.evidence]

    @property
    def draft(self) -> str | None:
        """What figures are stamped with (see ``Evidence.draft``), by the first experiment that was measured."""
        return next((evidence.draft for evidence in self.evidence), None)

    @property
    def calibration(self) -> Leaf:
        """The capacities that loads are shares of, in words."""
        return describe_calibration(self.evidence) if self.evidence else NO_TEXT

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {case.note}" for name, case in self.items())

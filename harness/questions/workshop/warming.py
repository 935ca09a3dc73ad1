# SPDX-License-Identifier: Apache-2.0
"""Unit 3: the same programs cold and warm, in two sessions of this project that say the opposite of each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.evidence.warm import Warm, cold_windows, warm_services
from harness.figures.comparisons import forests
from harness.figures.curves import cold_curves
from harness.model.formatting import ratio_words
from harness.publish.display import Published, plain_table, table_page
from harness.questions.workshop.checking import Checks, Truth
from harness.questions.workshop.showing import show_figure, small_panels

METRIC = "cpu_s_per_request"
_SEED = 11
_N, _NOISE = 400, 0.04
_CLASSES = {"A": "flat", "B": "warms up", "C": "no steady state", "D": "slows down"}
_DEARER, _CHEAPER = "dearer", "cheaper"


@dataclass(frozen=True, kw_only=True)
class WarmingUnit:
    """Two sessions on the same programs: ``old``, cold and through JMeter, and ``new``, warm and on CPUs of their own.

    ``subject``: the variant that the exercises are about.
    """

    old: Evidence
    new: Evidence
    warm: Warm
    subject: str

    @cached_property
    def cold_ratios(self) -> Mapping[str, Comparison]:
        """Variant -> CPU time per request over the reference, without a warm-up."""
        trials = self.old.cell(logging="off", warm_up="none")
        return {one.variant: one for one in compare(trials, METRIC, reference=self.old.reference)}

    @cached_property
    def warm_ratios(self) -> Mapping[str, Comparison]:
        """Variant -> the same of services that have warmed up, at saturation."""
        return {one.variant: one for one in self.warm.compared(METRIC)}

    @cached_property
    def both(self) -> tuple[str, ...]:
        """The variants that both sessions have."""
        return tuple(name for name in self.cold_ratios if name in self.warm_ratios)

    @property
    def labels(self) -> Mapping[str, str]:
        """Variant -> what it is called."""
        return self.new.variants

    def headlines(self) -> Published:
        """Return CPU time per request over that of the reference in both sessions, and which way each points."""
        heads = ["variant", "cold, through JMeter", "", "warm, own CPUs", ""]
        body = [
            [self.labels[name], *_told(self.cold_ratios[name]), *_told(self.warm_ratios[name])]
            for name in self.both
        ]
        note = f"CPU time per request over that of {self.labels[self.old.reference]}, 95 % intervals over blocks."
        page = table_page(heads, body, "", [note], [False] * len(heads))
        return Published("\n".join([plain_table(heads, body), note]), page=page)

    def forests(self) -> Published:
        """Return the ratios of both sessions side by side."""
        figure = forests(
            {
                "cold, through JMeter": [self.cold_ratios[name] for name in self.both],
                "warm, on CPUs of its own": [self.warm_ratios[name] for name in self.both],
            },
            self.warm.saturation,
        )
        return show_figure(
            figure,
            alt="CPU time per request of each variant over that of Go net/http with 95 % intervals: on the left the "
            "cold session through JMeter, on the right the warm one.",
        )

    def warm_up_effect(self, variant: str) -> Comparison | None:
        """Return CPU time per request after warm-up calls over that without, within the old session."""
        return self.old.effect_of("warm_up", METRIC, variant=variant, base="none", logging="off")

    @cached_property
    def windows(self) -> pd.DataFrame:
        """One row per window of the warm-up of every process: ``variant window per_s cpu_s_per_request`` and more."""
        found = cold_windows(self.new)
        assert found is not None  # the session has windows
        return found

    def curves(self) -> Published:
        """Return throughput and CPU time per request since the first request."""
        return show_figure(
            cold_curves(self.windows),
            alt="Right answers per second and CPU time per request against the time since the first request, both on "
            "log axes; every process a thin line, the median of each variant a thick one.",
        )

    @cached_property
    def requests_of_old_trial(self) -> float:
        """How many requests a trial of the old session sent to its fresh process."""
        return float(self.old.cell(logging="off", warm_up="none")["n_requests"].median())

    @cached_property
    def requests_until_warm(self) -> float:
        """How many requests a process of the subject had answered when it was warm, on average."""
        found = self.warm.cold[self.subject].n_requests
        assert found is not None and found.value is not None  # its processes settled
        return found.value

    def warm_cost_s(self, variant: str) -> float:
        """Return the CPU time per request of a warm service: the median over its trials at saturation."""
        trials = self.warm.saturation
        mine = trials[(trials["variant"] == variant) & ~trials["excluded"].astype(bool)]
        return float(mine[METRIC].median())

    def first_cheaper_window(self) -> float:
        """Return the first window in which the subject's median costs less than the warm reference; NaN: none."""
        mine = self.windows[self.windows["variant"] == self.subject]
        medians = mine.groupby("window")[METRIC].median()
        cheaper = medians[medians < self.warm_cost_s(self.new.reference)]
        return float(cheaper.index[0]) if len(cheaper) else float("nan")

    @cached_property
    def made_up(self) -> pd.DataFrame:
        """Latency by window of four made-up services, whose course is known: ``window A B C D``."""
        rng = np.random.default_rng(_SEED)
        at = np.arange(1, _N + 1)
        levels = {
            "flat": np.full(_N, 10.0),
            "warms up": 10.0 + 14.0 * np.exp(-at / 40),
            "slows down": np.where(at < 0.6 * _N, 10.0, 13.0),
            "no steady state": 10.0 + 8.0 * at / _N + 2.0 * np.sin(at / 9),
        }
        columns = {
            name: levels[course] * np.exp(rng.normal(0, _NOISE, _N)) for name, course in _CLASSES.items()
        }
        return pd.DataFrame({"window": at, **columns})

    def made_up_figure(self) -> Published:
        """Return the four courses."""
        figure = small_panels(
            self.made_up, x="window", y_label="mean latency / ms", x_label="window of the load"
        )
        return show_figure(
            figure, alt="Mean latency by window of four made-up services, one panel each, named A to D."
        )

    @cached_property
    def checks(self) -> Checks:
        """The exercises of the unit."""
        return Checks(
            {
                "3.1": Truth(
                    value=lambda: {
                        "cold": _way(self.cold_ratios[self.subject]),
                        "warm": _way(self.warm_ratios[self.subject]),
                    },
                    why="Both intervals leave out 1, on opposite sides. Both sessions were measured with care.",
                ),
                "3.2": Truth(
                    value=lambda: self.requests_of_old_trial / self.requests_until_warm,
                    within=0.02,
                    why="The old trials ended long before the service was warm.",
                    wrong={
                        "This is the other way round.": lambda: (
                            self.requests_until_warm / self.requests_of_old_trial
                        )
                    },
                ),
                "3.3": Truth(
                    value=self.first_cheaper_window,
                    why="From this window on the compiled code runs. Who stops before it measures the compiler.",
                    wrong={
                        "Windows are counted from 1.": lambda: self.first_cheaper_window() - 1,
                    },
                ),
                "3.4": Truth(
                    value=lambda: dict(_CLASSES),
                    why="A warm-up has an end only where a level follows; a slow-down has one too, at its worse level.",
                ),
            }
        )


def warming_unit(old: Evidence, new: Evidence, *, subject: str) -> WarmingUnit:
    """Return the unit of a cold and a warm session."""
    warm = warm_services(new)
    assert warm is not None  # the session is there
    return WarmingUnit(old=old, new=new, warm=warm, subject=subject)


def _told(one: Comparison) -> tuple[str, str]:
    return ratio_words(one), _way(one)


def _way(one: Comparison) -> str:
    """Which way a ratio of costs points, where its interval leaves out 1."""
    ratio = one.ratio
    if ratio.low is not None and ratio.low > 1:
        return _DEARER
    return _CHEAPER if ratio.high is not None and ratio.high < 1 else "not shown to differ"

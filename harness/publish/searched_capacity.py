# SPDX-License-Identifier: Apache-2.0
"""The capacity that the load at a rate is a share of: what its search came to."""

from __future__ import annotations

from harness.evidence import Evidence
from harness.evidence.load_response import calibration_of, search_words
from harness.publish.results import NO_TEXT, Absent, Tree, as_is


def capacity_results(evidence: Evidence | None) -> Tree:
    """Return ``per_s``, ``trials``, ``load_s``, ``variant`` and ``goals`` of the search, made or not."""
    found = calibration_of(evidence)
    search = None if found is None else found.searches.get(found.variant)
    if evidence is None or found is None or search is None:
        return {
            "per_s": Absent(unit="1/s"), "trials": Absent(unit="1"), "load_s": Absent(unit="s"),
            "variant": NO_TEXT, "goals": NO_TEXT,
        }  # fmt: skip
    return {
        "per_s": as_is(search.lower_per_s, "1/s", "highest rate that kept its goals, of the slowest variant"),
        "trials": as_is(
            sum(len(one.trials) for one in found.searches.values()), "1", "trials of all searches"
        ),
        "load_s": as_is(sum(one.load_s for one in found.searches.values()), "s", "load time of all searches"),
        "variant": evidence.variants.get(found.variant, found.variant),
        "goals": search_words(search.goals),
    }

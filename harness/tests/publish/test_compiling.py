# SPDX-License-Identifier: Apache-2.0
"""What is said of JVMs that still compiled: by their compilers' time alone, of kept trials, and of JVMs only."""

from __future__ import annotations

import pandas as pd

from harness.publish.compiling import compiling, compiling_sentence, repeated_sentence
from harness.publish.results import NO_TEXT, Words


def trials(*compile_s: float | None, excluded: int = 0) -> pd.DataFrame:
    """Trials of ten seconds whose compilers worked so long; the last ``excluded`` do not count."""
    n = len(compile_s)
    return pd.DataFrame(
        {
            "trial_id": [f"{i:04}" for i in range(n)],
            "experiment": "e",
            "session_id": "s",
            "compile_s": pd.Series(compile_s, dtype="float64"),
            "measurement_s": 10.0,
            "excluded": [i >= n - excluded for i in range(n)],
            "duplicate": False,
        }
    )


def test_trials_above_the_share_of_a_warm_jvm_are_counted_with_the_largest_share() -> None:
    assert compiling_sentence(trials(0.4, 0.6, 3.0, None, None)) == (
        "In 2 of 3 trials of a JVM its compilers worked for more than 5 % of the load (at most 30 %), so they "
        "were young."
    )


def test_the_loads_of_a_search_are_part_of_the_load() -> None:
    searched = trials(3.0).assign(search_load_s=20.0)
    assert "(at most 10 %)" in compiling_sentence(searched)


def test_warm_jvms_are_said_to_be_warm() -> None:
    assert compiling_sentence(trials(0.0, 0.5, None)) == (
        "In none of 2 trials did the JVM compile for more than 5 % of the load."
    )


def test_excluded_trials_are_not_counted() -> None:
    assert "In none of 1 trials" in compiling_sentence(trials(0.0, 9.0, excluded=1))


def test_nothing_is_said_of_runtimes_without_a_compiler_nor_of_what_was_not_measured() -> None:
    assert compiling(trials(None, None)) == NO_TEXT
    assert compiling(None) == NO_TEXT
    assert isinstance(compiling(trials(1.0)), Words)


def test_loads_that_were_offered_again_are_counted_by_service() -> None:
    loaded = trials(0.0, 0.1, 0.2, 9.0, excluded=1).assign(
        label=["Java A", "Java A", "Java B", "Java B"], earlier_loads=[2.0, 0.0, float("nan"), 1.0]
    )
    assert repeated_sentence(loaded) == (
        "Because the JVM compiled for too much of it, the load was offered to the same process again: "
        "Java A in 1 of 2 trials. The last load counts."
    )


def test_nothing_is_said_where_no_load_was_offered_again() -> None:
    once = trials(0.0, 0.0).assign(label="Java A", earlier_loads=0.0)
    assert repeated_sentence(once) == ""
    assert repeated_sentence(once.drop(columns="earlier_loads")) == ""

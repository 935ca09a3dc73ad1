# SPDX-License-Identifier: Apache-2.0
"""How much of a load a bank bore: a collapse is compared like anything else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.comparisons import Comparison
from harness.evidence import Evidence
from harness.model import Estimate, Verdict
from harness.publish.case import Case
from harness.publish.results import NO_TEXT, Absent, Leaf, Words, leaves
from harness.questions.bank.connections import (
    OUTCOMES,
    at_one_load,
    effect_with_all,
    first_with_several,
)
from harness.questions.bank.connections_results import connection_results, connection_rows, passes_words
from harness.questions.bank.failures import bends, failed_passes

LABELS = {"go-gorilla": "Go gorilla", "java-spring": "Java Spring"}


def bank(
    right: dict[tuple[str, str], list[float]],
    share: dict[tuple[str, str], list[float]],
    *,
    overloaded_below: float = 0.5,
) -> pd.DataFrame:
    """A pressure table: (variant, connections) -> one value a block."""
    rows: list[dict[str, object]] = []
    for (variant, level), values in right.items():
        for block, value in enumerate(values, start=1):
            whole = share[variant, level][block - 1]
            over = whole < overloaded_below
            rows.append({
                "experiment": "bank-connections", "source": "measured", "session_id": "s", "trial_id": f"{len(rows):04d}",
                "block": block, "position": len(rows) + 1, "duplicate": False, "is_reference": variant == "go-gorilla",
                "variant": variant, "label": LABELS[variant], "implementation": variant,
                "language": variant.partition("-")[0], "configuration": f"{variant},{level}", "connections": level,
                "server": "max-100", "users": "share-90", "outcome": "overloaded" if over else "ok", "excluded": over,
                "flags": "", "serve_s": 7000 / value if whole == 1 else np.nan, "measurement_s": 7.0, "right_share": whole, "error_share": 1 - whole,
                "latency_p99_s": np.nan if over else 1 / value, "latency_mean_s": np.nan if over else 0.3 / value,
                "cpu_s_per_request": 0.001 * 100 / value if value else 1.0,
                "offered_per_s": 1500.0, "drain_s": 1.0, "recovery_under_load_s": np.nan, "most_connections": 20.0,
                "rss_max_bytes": 1e8, "n_requests": 7000.0,
            })  # fmt: skip
    return pd.DataFrame(rows)


def collapsed(java: float = 0.15) -> pd.DataFrame:
    """Go survives a connection for every statement in four of five blocks, Java in none."""
    wiggle = [1.0, 1.04, 0.97, 1.02, 0.99]
    right = {
        ("go-gorilla", "pool-20"): [1200 * w for w in wiggle],
        ("go-gorilla", "per-statement"): [230 * w for w in reversed(wiggle)],
        ("java-spring", "pool-20"): [700 * w for w in wiggle],
        ("java-spring", "per-statement"): [700 * java * w for w in reversed(wiggle)],
    }
    share = {
        ("go-gorilla", "pool-20"): [1.0] * 5,
        ("go-gorilla", "per-statement"): [0.49, 0.83, 0.72, 0.77, 0.8],
        ("java-spring", "pool-20"): [1.0] * 5,
        ("java-spring", "per-statement"): [java * w for w in wiggle],
    }
    return bank(right, share)


def calm() -> pd.DataFrame:
    """No pass fails either way; a pool is five times as quick in Go, and six times in Java."""
    table = collapsed()
    serve_s = {
        ("go-gorilla", "pool-20"): 3.0, ("go-gorilla", "per-statement"): 15.0,
        ("java-spring", "pool-20"): 6.0, ("java-spring", "per-statement"): 36.0,
    }  # fmt: skip
    wiggle = table["block"].map({1: 1.0, 2: 1.04, 3: 0.97, 4: 1.02, 5: 0.99}) ** np.where(
        table["connections"] == "pool-20", 1, -1
    )
    took = [serve_s[pair] for pair in zip(table["variant"], table["connections"], strict=True)]
    return table.assign(
        right_share=1.0, error_share=0.0, outcome="ok", excluded=False, serve_s=np.array(took) * wiggle
    )


def case_of(table: pd.DataFrame | None) -> Case:
    """The case of an experiment whose load response is this table."""
    made = Case("bank-connections", None)
    vars(made)["response"] = table  # where the property keeps it
    return made


def said(table: pd.DataFrame | None) -> dict[str, Leaf]:
    return {".".join(path): leaf for path, leaf in leaves(connection_results(case_of(table)))}


def effects(table: pd.DataFrame) -> dict[str, dict[str, Comparison | None]]:
    return {
        name: {
            word: effect_with_all(
                table, "connections", column, variant=name, base="per-statement", other="pool-20"
            )
            for word, column in OUTCOMES.items()
        }
        for name in LABELS
    }


def test_a_collapse_in_every_trial_has_a_ratio_of_shares_and_no_time_to_serve() -> None:
    found = effects(collapsed())
    for name, expected in (("go-gorilla", 1 / 0.711), ("java-spring", 1 / 0.15)):
        assert found[name]["serve"] is None  # refusing is no serving, however soon it is over
        one = found[name]["share"]
        assert one is not None
        assert one.ratio.value == pytest.approx(expected, rel=0.02)
        assert one.ratio.low is not None
        assert one.ratio.low > 1
        assert (one.verdict, one.n_excluded) == (Verdict.DIFFERENT, 0)


def test_a_trial_without_any_right_answer_still_counts() -> None:
    table = collapsed()
    dead = (
        (table["variant"] == "java-spring")
        & (table["connections"] == "per-statement")
        & (table["block"] == 2)
    )
    table.loc[dead, "right_share"] = 0.0
    one = effects(table)["java-spring"]["share"]
    assert one is not None
    assert one.ratio.method.startswith("Fieller")
    assert one.ratio.value == pytest.approx(5 / (0.15 * (5.02 - 1.04)), rel=1e-6)
    assert one.ratio.low is None or one.ratio.low > 1
    all_dead = table.assign(right_share=table["right_share"].where(table["connections"] == "pool-20", 0.0))
    nothing = effects(all_dead)["java-spring"]["share"]
    assert nothing is not None
    assert nothing.ratio.value is None  # nothing over nothing is not said


def test_where_loads_and_servers_vary_the_heaviest_load_on_the_stock_server_is_compared() -> None:
    table = pd.concat([
        collapsed().assign(users=users, offered_per_s=offered, server=server)
        for users, offered in (("1000", 50.0), ("4000", 200.0))
        for server in ("max-30", "max-100")
    ])  # fmt: skip
    kept = at_one_load(table)
    assert kept is not None
    assert set(zip(kept["users"], kept["server"], strict=True)) == {("4000", "max-100")}
    assert at_one_load(None) is None


def test_the_paper_gets_counts_shares_and_survivors_in_words() -> None:
    found = said(collapsed())
    key = "connections.per-statement"
    assert found[f"{key}.overloaded.java-spring"] == "5 of 5 trials"
    assert found[f"{key}.survivors.go-gorilla"] == "4 of 5 trials"
    share = found[f"{key}.share.java-spring"]
    assert isinstance(share, Estimate)
    assert share.value == pytest.approx(0.15, rel=0.01)
    assert share.n_trials == 5
    assert found["connections.pool-1.share.go-gorilla"] == Absent(unit="share")
    ratio = found["pooled.share.java-spring"]
    assert isinstance(ratio, Comparison)
    assert ratio.ratio.value is not None and ratio.ratio.value > 1
    assert found["pooled.serve.words.java-spring"] == (
        "not known, as without the pool passes failed in 5 of 5 trials"
    )
    assert found[f"{key}.serve_words.java-spring"] == "not known, as passes failed in 5 of 5 trials"
    assert found["connections.passes"] == passes_words(collapsed()) == "7,000"
    assert not [name for name in found if ".right." in name]  # a fixed amount of work tells no rate
    assert found["per-statement.p99.survivors.java-spring"] == Words("none, as 5 of 5 trials were overloaded")
    survivors = found["per-statement.p99.survivors.go-gorilla"]
    assert isinstance(survivors, Words)
    assert "in 4 of 5 blocks" in survivors.text
    assert len(survivors.inputs) == 8


def test_an_overload_is_a_sentence_and_so_is_that_there_was_none() -> None:
    found = said(collapsed())["connections.overloads"]
    assert isinstance(found, Words) and len(found.inputs) == 20
    assert found.text == (
        "Go gorilla was overloaded in 1 of 5 trials with a connection a statement: it held up to 20 of the 100 "
        "connections that the database accepts, and 28 % of its passes failed; Java Spring was overloaded in 5 of 5 "
        "trials with a connection a statement: it held up to 20 of the 100 connections that the database accepts, and "
        "85 % of its passes failed."
    )
    none = said(calm())["connections.overloads"]
    assert isinstance(none, Words) and none.text == "No bank was overloaded in any of 20 trials."


def test_a_failure_that_did_not_occur_is_said() -> None:
    held = failed_passes(calm(), 100)
    assert isinstance(held, Words)
    assert held.text.startswith(
        "Here no pass failed in any of 20 trials, and the services held at most 20 of the 100 connections"
    )
    assert "did not occur" in held.text
    some = failed_passes(collapsed(), 100)
    assert isinstance(some, Words) and some.text.startswith("Here passes failed in 10 of 20 trials, and")
    assert failed_passes(None, 100) == NO_TEXT


def test_a_bend_that_was_not_detected_is_said_in_words_and_not_by_a_dash() -> None:
    at = Estimate(value=120.0, low=100.0, high=130.0, unit="1/s", method="m", estimand="e", n_trials=5)
    none = at.model_copy(
        update={"value": None, "low": None, "high": None, "warnings": ("a straight line fits as well",)}
    )
    labels = {"go": "Go", "java": "Java"}
    both = bends({"go": at, "java": none}, labels)
    assert isinstance(both, Words)
    assert both.text == (
        "The ninety-ninth percentile begins to grow faster at 120/s (100 to 130) for Go. No load was detected from "
        "which the ninety-ninth percentile of Java grows faster (a straight line fits as well)."
    )
    assert bends({}, labels) == NO_TEXT


def test_what_was_not_measured_has_the_same_keys() -> None:
    nothing = said(None)
    assert set(nothing) == set(said(collapsed()))
    assert {type(leaf) for leaf in nothing.values()} == {Absent}
    assert nothing["connections.passes"] == NO_TEXT


def test_the_table_counts_the_overloaded_and_compares_each_way_with_the_pool() -> None:
    assert [row for row in connection_rows(case_of(collapsed())) if row and row["over"] == "5 of 5"]
    rows = [row for row in connection_rows(case_of(calm())) if row]
    by = {(row["connections"], row["variant"]): row for row in rows}
    assert by["per-statement", "Java Spring"]["over"] == "0 of 5"
    assert by["pool-20", "Java Spring"]["pooled"] is None
    ratio = by["per-statement", "Go gorilla"]["pooled"]
    assert getattr(ratio, "value", None) == pytest.approx(1 / 5, rel=0.02)


def test_connections_are_told_by_the_first_experiment_that_has_several_ways_to_hold_them() -> None:
    def measured(table: pd.DataFrame) -> Case:
        return Case("bank-rematch", cast("Evidence", SimpleNamespace(trials=table)))

    nothing, both = Case("bank-connections", None), measured(collapsed())
    one_way = measured(collapsed().query("connections == 'pool-20'"))
    assert first_with_several("connections", one_way, both).evidence is both.evidence
    assert first_with_several("connections", both, measured(collapsed())).evidence is both.evidence
    assert first_with_several("connections", nothing, one_way) == nothing
    assert first_with_several("connections", nothing, both).experiment == "bank-connections"


def test_md5_has_levels_of_its_own_and_the_programs_of_the_rematch_are_apart() -> None:
    faces = [
        collapsed().assign(face=face, authentication=how)
        for face, how in (("matched", "scram"), ("matched", "md5"), ("repaired", "md5"))
    ]
    kept = at_one_load(pd.concat(faces))
    assert kept is not None
    assert set(kept["connections"]) == {"pool-20", "per-statement", "pool-20-md5", "per-statement-md5"}
    assert set(kept["face"]) == {"matched"}


def test_what_bounded_the_trials_is_said_and_what_the_database_used() -> None:
    table = collapsed().assign(bound_by="backing", backing_share=0.9)
    table.loc[(table["connections"] == "per-statement") & (table["block"] > 3), "bound_by"] = "service"
    found = said(table)
    assert found["connections.pool-20.bound.java-spring"] == "the database or upstream"
    assert found["connections.per-statement.bound.java-spring"] == (
        "the database or upstream (3 of 5), the service (2 of 5)"
    )
    used = found["connections.pool-20.database.go-gorilla"]
    assert isinstance(used, Estimate)
    assert used.value == pytest.approx(0.9)
    assert said(collapsed())["connections.pool-20.bound.go-gorilla"] == NO_TEXT


def test_the_other_driver_and_virtual_threads_are_compared_with_what_they_replace() -> None:
    table = calm()
    pgx = table[table["variant"] == "go-gorilla"].assign(
        variant="go-pgx", is_reference=False, cpu_s_per_request=lambda one: 0.8 * one["cpu_s_per_request"]
    )
    both = pd.concat([table, pgx.assign(trial_id=lambda one: "p" + one["trial_id"])])
    found = said(both)
    for level in ("pool-20", "per-statement"):
        one = found[f"pgx.cpu.{level}"]
        assert isinstance(one, Comparison)
        assert one.ratio.value == pytest.approx(0.8)
    assert isinstance(found["virtual.cpu.pool-20"], Absent)

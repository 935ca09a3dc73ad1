# SPDX-License-Identifier: Apache-2.0
"""Rows of trials: known answers, what must not change them, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.evidence.metrics import METRICS
from harness.analysis.stats.summaries import summarise
from harness.errors import InputError
from harness.publish.figures.style import variant_styles
from harness.rows import (
    along,
    behind,
    compare,
    counts,
    detectable,
    forest,
    means,
    overview,
    page,
    pairs,
    pivot,
)
from harness.rows.schema import keyed, records
from harness.tests.support.made_up_trials import made_up_trials

RATE, START = "throughput_per_s", "time_to_first_response_s"
NUMBERS = ["value", "low", "high"]


@pytest.fixture
def trials() -> pd.DataFrame:
    """Return trials without a log line; block by block the reference a second time, a tenth slower."""
    plain = made_up_trials().query("logging == 'off'")
    twice = plain[plain["variant"] == "go-nethttp"].assign(
        duplicate=True,
        trial_id=lambda t: t["trial_id"] + "d",
        throughput_per_s=lambda t: t[RATE] / (1.1 + 0.01 * t["block"]),
    )
    return pd.concat([plain, twice], ignore_index=True)


def test_a_mean_is_geometric_over_the_trials_that_count(trials: pd.DataFrame) -> None:
    rows = means(trials, rate=RATE).set_index("variant")
    values = trials.query("variant == 'go-nethttp' and not duplicate")[RATE]
    assert rows.loc["go-nethttp", "value"] == pytest.approx(float(np.exp(np.log(values).mean())))
    about = list(rows.loc["go-nethttp", ["kind", "metric", "label", "n_trials"]])
    assert about == ["mean", RATE, "GO-NETHTTP", 5]
    expected = summarise(trials, RATE).set_index("variant")
    assert rows[NUMBERS].to_numpy() == pytest.approx(expected.loc[rows.index, NUMBERS].to_numpy())


def test_a_mean_can_be_of_the_trials_of_its_ratio(trials: pd.DataFrame) -> None:
    """Of a warm arm young trials are left out of the ratio; a variant that was not compared keeps all of its own."""
    ages = trials.assign(age="warm", measurement_s=5.0)
    ages.loc[(ages["variant"] == "java-helidon") & (ages["block"] == 2), "age"] = "young"
    rows = compare(ages.query("variant != 'go-kit'"), RATE, "rate", reference="go-nethttp")
    n = behind(ages, rows).query("not duplicate").groupby("variant").size()
    assert (n["java-helidon"], n["go-kit"]) == (4, 5)


def test_an_overview_has_a_ratio_and_means_of_its_trials_at_each_level() -> None:
    """A block that one arm lacks counts in no value of its row; a metric that no trial has gives no row."""
    trials = made_up_trials().query("variant in ['go-kit', 'go-nethttp']").reset_index(drop=True)
    third = trials["block"] == 3
    trials.loc[(trials["variant"] == "go-kit") & third & (trials["logging"] == "on"), "excluded"] = True
    trials.loc[(trials["variant"] == "go-nethttp") & third, "latency_mean_s"] *= 3
    metrics = [metric for metric in METRICS if metric.name in ("mean", "cpu")]
    without = trials.assign(cpu_s_per_request=np.nan)
    rows = overview(without, metrics, reference="go-nethttp", by=["logging"])
    assert list(rows["name"].unique()) == ["mean"] and len(rows) == 6
    by_place = {(row["kind"], row["logging"], row["variant"]): row for row in records(rows)}
    for level, n in (("off", 5), ("on", 4)):
        arms = [by_place["mean", level, name] for name in ("go-kit", "go-nethttp")]
        ratio = by_place["ratio", level, "go-kit"]["value"]
        assert ratio == pytest.approx(arms[0]["value"] / arms[1]["value"])
        assert [arm["n_trials"] for arm in arms] == [n, n]
        assert arms[0]["n_excluded"] == 5 - n
    assert behind(trials, rows.iloc[:0], by=["logging"]).equals(trials)


def test_words_beside_a_value_are_printed_in_its_place(trials: pd.DataFrame) -> None:
    rows = means(trials, rate=RATE)
    rows["text"] = rows["text"].mask(rows["variant"] == "go-kit", "< 1 s")
    cells = pivot(rows, {"rate.mean": "rate"}).iloc[:, 0].to_dict()
    assert cells["GO-KIT"] == "< 1 s" and "(" in str(cells["JAVA-HELIDON"])


def test_a_forest_has_a_line_a_row_and_marks_what_is_refused(trials: pd.DataFrame) -> None:
    rows = compare(trials, RATE, "rate", reference="go-nethttp")
    _, axes = page()
    forest(axes, rows, variant_styles(trials))
    assert [label.get_text() for label in axes.get_yticklabels()] == rows["label"].tolist()[::-1]
    faces = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() not in ("None", "", None)]
    assert len(faces) == len(rows) and faces[0] == "white"  # the reference again is the last row, drawn first


def test_the_reference_again_is_a_row_without_a_verdict(trials: pd.DataFrame) -> None:
    rows = compare(trials, RATE, "rate", reference="go-nethttp")
    again = rows[rows["variant"] == rows["reference"]].iloc[0]
    ratios = 1.1 + 0.01 * np.arange(1, 6)
    assert again["value"] == pytest.approx(float(np.exp(np.log(ratios).mean()))) and pd.isna(again["verdict"])
    assert again["margin"] > again["value"] - 1 and again["label"] == "GO-NETHTTP, again"
    assert len(keyed("q", rows)) == 5


def test_a_pair_is_compared_alone_and_one_that_was_not_measured_has_no_row(trials: pd.DataFrame) -> None:
    rows = pairs(trials, START, "aot", {"java-helidon-aot": "java-helidon", "rust-x": "rust-y"})
    assert rows[["variant", "reference"]].to_numpy().tolist() == [["java-helidon-aot", "java-helidon"]]
    assert rows["value"].iloc[0] == pytest.approx(4 / 3)


def test_a_level_over_another_within_each_variant() -> None:
    slower = made_up_trials().assign(
        throughput_per_s=lambda t: np.where(t["logging"] == "on", t["block"] * 50.0, t["block"] * 100.0)
    )
    rows = along(slower, RATE, "log", factor="logging", base="off")
    assert list(rows["variant"]) == list(dict.fromkeys(slower["variant"])) and set(rows["logging"]) == {"on"}
    assert rows["value"].to_numpy() == pytest.approx(0.5)
    assert keyed("q", rows)["key"].iloc[0] == "q.log.ratio.on.go_kit"


def test_excluded_trials_are_counted_and_under_no_value(trials: pd.DataFrame) -> None:
    trials.loc[0, "excluded"] = True
    rows = counts(trials.assign(outcome="ok"), "outcome", "trials").set_index("what")["value"]
    assert rows.to_dict() == {"ok": 24.0, "all": 24.0, "excluded": 1.0}
    row = means(trials, rate=RATE).set_index("variant").loc["go-kit"]
    assert (row["n_trials"], row["n_excluded"]) == (4, 1)


def test_without_trials_there_are_no_rows(trials: pd.DataFrame) -> None:
    none = trials.iloc[:0]
    frames = [
        means(none, rate=RATE),
        compare(none, RATE, "rate", reference="go-nethttp"),
        pairs(none, RATE, "rate", {"java-helidon": "go-nethttp"}),
        along(none, RATE, "rate", factor="logging", base="off"),
        detectable(none, reference="go-nethttp", rate=RATE),
        counts(none, "flags", "trials"),
    ]
    assert all(frame.empty and "value" in frame for frame in frames)


def test_a_column_that_is_not_there_is_refused(trials: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="no such column"):
        means(trials, rate="thruput")
    with pytest.raises(InputError, match="no such column"):
        detectable(trials, reference="go-nethttp", rate="thruput")
    with pytest.raises(InputError, match="no such column"):
        compare(trials, "thruput", "rate", reference="go-nethttp")

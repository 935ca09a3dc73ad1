# SPDX-License-Identifier: Apache-2.0
"""What pauses explain, as rows; equal memory; and latency over time with the cause of each slow request."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.attribution.trial import TrialAttribution, memory_fit, memory_words
from harness.analysis.tables.tidy import tidy
from harness.definitions import load_study
from harness.model import SessionHeader, Verdict
from harness.pipeline import StageParameters
from harness.rows import Session, attribute, attribution, open_session, slow_requests
from harness.rows.schema import keyed
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import LEAST_MIB, ROOT, make_project
from harness.tests.support.synthetic_trial import HELD_MIB


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    root: Path = make_project(tmp_path_factory.mktemp("peaks"), experiments=())
    lay_session(root, "gc-peaks", "quick")
    tidy(root, experiments=("gc-peaks",))
    return open_session("gc-peaks", StageParameters(profile="quick", experiments="gc-peaks"), root=root)


@pytest.fixture(scope="module")
def trials(session: Session) -> tuple[TrialAttribution, ...]:
    return attribute(session)


@pytest.fixture(scope="module")
def header(session: Session) -> SessionHeader:
    assert session.evidence is not None
    return session.evidence.header


def test_rows_have_what_bounded_memory_and_collections(trials: tuple[TrialAttribution, ...]) -> None:
    rows = keyed("gc", attribution(trials)).set_index("key")
    assert rows.loc["gc.setting.fact.g1_6x", "text"] == f"6x: {6 * LEAST_MIB} MiB"
    assert rows.loc["gc.setting.fact.go_as_g1_3x", "text"] == f"as G1, 3x: {HELD_MIB} MiB"
    assert rows.loc["gc.setting.fact.go_gogc_100", "text"] == "GOGC 100"
    assert rows.loc["gc.collections.mean.serial_3x", "value"] == 7
    assert rows.loc["gc.median.mean.serial_3x", "value"] == pytest.approx(0.025, rel=0.01)


def test_go_is_compared_with_equal_memory(session: Session, trials: tuple[TrialAttribution, ...]) -> None:
    variants = load_study(ROOT, "gc-peaks").experiment.variants
    given = {name: one.runtime.memory_of for name, one in variants.items() if one.runtime.memory_of}
    assert dict(session.declared[0].pairs) == given
    equal = session.compare()
    memory, p99 = (equal.query("name == @name") for name in ("equal_memory", "equal_p99"))
    assert len(memory) == len(p99) >= 2
    assert set(memory["verdict"]) == {Verdict.EQUIVALENT} and set(memory["margin"]) == {0.10}
    assert (p99["value"] < 0.5).all()  # the made-up Java pauses, the made-up Go does not
    latency = attribution(trials).query("name == 'latency'").set_index("variant")["value"]
    for row in p99.to_dict("records"):  # of settled requests, as in the table
        assert row["value"] == pytest.approx(latency[row["variant"]] / latency[row["reference"]])


def test_slow_requests_share_the_pauses_clock(session: Session, trials: tuple[TrialAttribution, ...]) -> None:
    first = next(trial for trial in trials if trial.variant == "serial-3x")
    requests, pauses = slow_requests(session, [first])
    assert len(requests) == first.n_requests and requests["start_s"].min() == 0
    slow = requests[requests["cause"] != ""]
    assert slow["latency_s"].min() >= requests["latency_s"].quantile(0.99) > requests["latency_s"].median()
    assert (pauses["cause"] == "gc_pause").sum() == first.n_pauses
    assert (pauses["end_s"] > pauses["start_s"]).all()


def test_a_session_from_before_memory_was_measured_is_read_as_it_is(header: SessionHeader) -> None:
    before = old(header)
    assert memory_fit(before) is None
    assert memory_words(before, "serial-1.3x") == "64 MiB"
    assert memory_words(before, "go-gogc-100") == "GOGC 100"
    assert memory_words(before, "go-as-g1-3x") == "limit: 64 MiB"


def old(header: SessionHeader) -> SessionHeader:
    """The header as sessions had it when sizes were written by hand."""
    sizes = {
        name: {"heap_max": "64m"} if variant.runtime.heap_max else {"gomemlimit": "64MiB"}
        for name, variant in header.experiment.variants.items()
        if variant.runtime.heap_max or variant.runtime.gomemlimit
    }
    return header.model_copy(update={"notes": {}, "experiment": header.experiment.with_memory(sizes)})

# SPDX-License-Identifier: Apache-2.0
"""A session as frames, and what a question publishes of it: read back, it is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.analysis.evidence.parameters import StageParameters
from harness.analysis.tables.tidy import tidy as make_all_tables
from harness.errors import InputError
from harness.publish.generated import GENERATED, PUBLISHING, clear, read_values
from harness.rows import Question, Session, find_session, means, open_session
from harness.rows.question import read_rows
from harness.rows.session import REQUESTS
from harness.tests.support.command import run_here
from harness.tests.support.kept_sessions import lay_tables
from harness.tests.support.sessions import REPOSITORY

EXPERIMENT, FIRST = "strings-startup", "time_to_first_response_s"
SAMPLE = StageParameters(profile="sample")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one bundled session of starts."""
    root = tmp_path_factory.mktemp("rows")
    for name in ("harness", "pyproject.toml", "services"):
        (root / name).symlink_to(REPOSITORY / name)
    bundled = Path("data/raw/bundled") / EXPERIMENT
    shutil.copytree(REPOSITORY / bundled, root / bundled)
    lay_tables(root, EXPERIMENT)
    make_all_tables(root, [EXPERIMENT], sources=["bundled"])
    return root


@pytest.fixture
def session(root: Path) -> Session:
    return open_session(EXPERIMENT, SAMPLE, root=root)


def test_six_lines_of_pandas_give_a_ratio_and_its_interval_to_the_last_digit(session: Session) -> None:
    counted = session.trials.query("not excluded and not duplicate")
    wide = counted.pivot(index="block", columns="variant", values=FIRST)
    logs = np.log((wide["java-helidon"] / wide[session.reference]).to_numpy(dtype=float))
    half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
    by_hand = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    rows = session.compare("first").set_index("variant")
    row = rows.loc["java-helidon"]
    assert row[["value", "low", "high"]].to_numpy(dtype=float) == pytest.approx(by_hand, rel=1e-12)
    over = session.over("java-helidon").compare("first").set_index("variant")
    assert over["value"]["go-nethttp"] == pytest.approx(1 / row["value"])
    narrow = session.compare("first", level=0.5).set_index("variant")
    assert (narrow["high"] - narrow["low"] < rows["high"] - rows["low"]).all()
    without = session.compare("first", trials=session.trials.query("block != 3"))
    assert set(without["n_blocks"]) == {4}


def test_what_an_experiment_declares_is_compared_and_nothing_else(session: Session) -> None:
    rows = session.compare()
    assert list(dict.fromkeys(rows["name"])) == ["first", "aot"]
    assert list(rows.query("name == 'aot'")["reference"]) == ["java-helidon", "java-jaxrs", "java-jdkhttp"]
    with pytest.raises(InputError, match="no such comparison.*allowed: first, aot"):
        session.compare("last")


def test_undeclared_comparisons_are_the_overviews(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = session.overview()
    assert set(rows["kind"]) == {"mean", "ratio"} and "start" in set(rows["name"])
    declared = session.compare("first").query("variant != reference").set_index("variant")["value"]
    overview = rows.query("kind == 'ratio' and name == 'start'").set_index("variant")["value"]
    assert overview[declared.index].tolist() == declared.tolist()
    monkeypatch.setattr(Session, "declared", ())
    pd.testing.assert_frame_equal(session.compare(), rows[rows["kind"] == "ratio"])
    with pytest.raises(InputError, match="no such metric"):
        session.compare("first")


def test_a_session_is_opened_by_its_name_and_an_unknown_one_is_refused(root: Path, session: Session) -> None:
    named = open_session(EXPERIMENT, session="quick-local-1", root=root)
    assert named.trials["trial_id"].tolist() == session.trials["trial_id"].tolist()
    with pytest.raises(InputError, match="no such session.*allowed: bundled/quick-local-1"):
        open_session(EXPERIMENT, session="quick-local-7", root=root)


def test_a_frame_without_rows_has_its_columns(session: Session) -> None:
    requests = session.requests()
    assert requests.empty and set(REQUESTS) <= set(requests.columns)  # a start has no load
    samples = session.samples(session.counted.head(2))
    assert samples["trial_id"].nunique() == 2 and {"rss_bytes", "since_launch_s", "label"} <= set(samples)


def test_of_what_was_not_measured_there_are_empty_frames_and_no_rows(root: Path) -> None:
    session = find_session("strings-rounds", SAMPLE, root=root)
    assert session.trials.empty and session.trials.query("logging == 'off'").empty
    assert session.samples().empty and session.pauses().empty
    assert session.compare().empty and means(session.trials, memory="rss_after_bytes").empty
    with pytest.raises(InputError, match="nothing measured yet"):
        open_session("strings-rounds", SAMPLE, root=root)


def publish(session: Session) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Publish comparisons and means; return the rows and what the notebook shows."""
    question = Question("startup", "31-startup", session)
    compared = session.compare("first")
    java = compared[compared["variant"].str.startswith("java-")]
    question.answer(java, "higher", "Java takes {least} to {most} times as long.")
    start = means(session.trials, first=FIRST)
    question.table("table", start, {"first.mean": "first answer"}, caption="Start-up.")
    return pd.concat([compared, start]), question.publish(compared, start)


def test_published_rows_are_read_back(root: Path, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLISHING, str(root / GENERATED))
    rows, _ = publish(session)
    back = read_rows(root).query("kind != 'fact'")
    assert back["value"].tolist() == pytest.approx(rows["value"].tolist())
    assert back["inputs"].tolist() == rows["inputs"].tolist()
    values = read_values(root)
    entry = values["startup.first.ratio.java_helidon"]
    assert entry["words"] == "higher than" and entry["value"] == pytest.approx(137.466, rel=1e-4)
    assert values["startup.answer.fact"]["text"] == "Java takes 25.5 to 154 times as long."
    assert set(values) == set(read_rows(root)["key"])

    code, out, _ = run_here(root, "results", "startup", "--metric", "first", columns=80)
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    assert "Java Helidon SE" in out and "137 (116 to 163)" in out and "higher" in out
    code, out, _ = run_here(root, "results", "startup", "--json", columns=80)
    plain = json.loads(out)
    assert code == 0 and {row["key"] for row in plain} == set(values)
    code, out, _ = run_here(root, "trace", "startup.first.ratio.java_helidon", columns=80)
    assert code == 0 and "says higher than go-nethttp" in out and "from 10 trials" in out
    code, _, err = run_here(root, "results", "startup", "--metric", "last", columns=80)
    assert code == 2 and "no such result" in err and "allowed: answer, first" in err

    other = Question("other", "31-startup", session)
    other.publish(means(session.trials, first=FIRST))
    assert set(read_rows(root)["question"]) == {"startup", "other"}
    clear(root, "31-startup")
    assert read_rows(root).empty and read_values(root) == {}


def test_alone_a_notebook_writes_none(root: Path, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLISHING, "")
    _, shown = publish(session)
    assert shown["rows"].to_dict() == {"fact": 1, "ratio": 8, "mean": 8}
    assert read_rows(root).empty


def test_an_answer_that_a_row_contradicts_says_so_with_the_row(session: Session) -> None:
    question = Question("startup", "31-startup", session)
    compared = session.compare("first").query("variant != reference")
    text = repr(question.answer(compared, "higher", "Everything takes longer than Go."))
    assert text.startswith("Not so in this session: Go kit 0.91 (0.61 to 1.36), open.")
    with pytest.raises(InputError, match="no such claim"):
        question.answer(compared, "faster", "Everything is faster.")

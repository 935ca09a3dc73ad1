# SPDX-License-Identifier: Apache-2.0
"""Faults at random moments of real sessions: nothing finished is lost; a campaign is repeatable, and finds what breaks."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent.processes import read_stat
from harness.errors import InputError
from harness.model import InvariantReading, Outcome
from harness.project import find_root
from harness.store import SessionFolder
from harness.tests.support.available import not_run, only_when_long
from harness.tests.support.command import run_here
from harness.tests.support.toy_sessions import make_session, trial_ids
from harness.verify.faults.campaign import nameless, run
from harness.verify.faults.holds import Kept, finished, incomplete, lost, said_badly, unbalanced
from harness.verify.faults.journal import Came, FaultLine
from harness.verify.faults.page import KEPT, kept, table
from harness.verify.faults.plan import BY_NAME, KINDS, Fault, Kind, fault, plan
from harness.verify.faults.sessions import Ended, Process, belonging_to

ROOT = find_root(Path(__file__).parent)
SEED = 20261124
#: Kinds of every run: cheap ones, of which each shows another promise.
FEW = ("session: SIGKILL", "service: SIGKILL", "power loss")
N_AT_LENGTH = 50


def first_of(kinds: Sequence[Kind], n: int) -> tuple[Fault, ...]:
    return tuple(itertools.islice(plan(SEED, kinds), n))


def broken_in(found: Sequence[FaultLine]) -> list[str]:
    """Return what was broken, and how to repeat it; a fault that cannot be had here is counted by the summary."""
    return [f"seed {SEED}, {one.number}: {one.kind}: {what}" for one in found for what in one.broken]


def lacking_in(found: Sequence[FaultLine]) -> str:
    return "; ".join(sorted({one.reason for one in found if one.came == "unavailable"}))


def line(number: int, kind: Kind, came: Came, **more: Any) -> FaultLine:
    return FaultLine(
        **{"number": number, "kind": kind.name, "came": came, "took_s": 4.2, "place": "here", **more}
    )


def test_the_same_seed_gives_the_same_faults_and_one_of_them_alone() -> None:
    first, again = first_of(KINDS, 200), first_of(KINDS, 200)
    assert first == again
    assert tuple(fault(SEED, one.number) for one in first) == first
    assert len({(one.when, one.size, one.where) for one in first}) == 200
    assert [fault(SEED + 1, n).kind for n in range(1, 20)] != [one.kind for one in first[:19]]


def test_each_round_has_every_kind_once() -> None:
    faults = first_of(KINDS, 3 * len(KINDS))
    assert Counter(one.kind.name for one in faults) == dict.fromkeys(BY_NAME, 3)
    assert len(BY_NAME) == len(KINDS)
    for role in ("session", "service", "generator", "database", "upstream", "agent"):
        assert {f"{role}: {name}" for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGSTOP")} <= set(BY_NAME)


def test_a_session_that_meets_a_fault_loses_nothing_and_goes_on() -> None:
    found = run(first_of([BY_NAME[name] for name in FEW], len(FEW)), ROOT, place="here")
    if lacking := lacking_in(found):
        not_run(lacking)
    assert broken_in(found) == []
    assert [one.came for one in found].count("held") >= 2, found


@only_when_long("fifty faults in real sessions")
def test_fifty_faults_of_every_kind_lose_nothing() -> None:
    found = run(first_of(KINDS, N_AT_LENGTH), ROOT, place="here")
    assert broken_in(found) == []
    assert [one.number for one in found] == [*range(1, N_AT_LENGTH + 1)]
    assert {one.kind for one in found} == set(BY_NAME)
    if lacking := lacking_in(found):
        not_run(lacking)


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    return make_session(tmp_path)


def test_a_changed_byte_a_missing_file_and_another_plan_are_found(session: SessionFolder) -> None:
    before = finished(session)
    assert list(lost(session, before)) == [] and len(before.trials) == len(trial_ids(session))
    first, second, *_ = sorted(before.trials)
    (session.folder / first / "record.json").write_text("{}")
    shutil.rmtree(session.folder / second / "load")
    (session.folder / "session.json").write_text("{}")
    assert [what.partition(" ")[0] for what in lost(session, before)] == [
        "the",
        f"{first}/record.json:",
        *(f"{second}/{name}:" for name in before.trials[second] if name.startswith("load/")),
    ]


def test_a_loss_of_power_may_take_the_last_trial_until_the_session_went_on(session: SessionFolder) -> None:
    *others, before_last, last = trial_ids(session)
    assert finished(session, promised=True) == Kept()
    (session.folder / last).rename(session.folder / f".partial-{last}")
    assert finished(session, promised=True).trials.keys() == {*others, before_last}
    (session.folder / before_last).rename(session.folder / f".partial-{before_last}")
    (session.folder / f".partial-{last}").rename(session.folder / last)
    assert finished(session, promised=True).trials.keys() == set(others)
    (session.folder / "events.jsonl").write_text('{"event": "finished"}\n')
    assert finished(session, promised=True).trials.keys() == {*others, last}


KILLED, TERM = BY_NAME["session: SIGKILL"], BY_NAME["session: SIGTERM"]
DISK = BY_NAME["disk full: data"]


@pytest.mark.parametrize(
    ("code", "stderr", "kind", "wrong"),
    [
        (0, "", DISK, None),
        (2, "rematch: no space left\n", DISK, None),
        (143, "rematch: stopped by SIGTERM; resume with: rematch measure x\n", TERM, None),
        (-signal.SIGKILL, "", KILLED, None),
        (1, "Traceback (most recent call last):\n  x\nOSError: y\n", DISK, "a traceback: OSError: y"),
        (0, "a warning\n", DISK, "exit status 0, and on stderr: a warning"),
        (2, "", DISK, "0 lines in place of one: "),
        (2, "rematch: a\nrematch: b\n", DISK, "2 lines in place of one: rematch: a / rematch: b"),
        (2, "rematch: far: KeyError: 7\n", DISK, "names KeyError in place of what is wrong: rematch: far: KeyError: 7"),
        (130, "rematch: stopped\n", DISK, "exit status 130"),
        (2, "rematch: x\n", TERM, "exit status 2"),
        (-signal.SIGKILL, "", DISK, "ended by SIGKILL"),
        (-signal.SIGSEGV, "x\n", KILLED, "ended by SIGSEGV: x"),
    ],
    ids=[
        "nothing to say", "one line", "stopped", "killed", "traceback", "a word too many", "silent", "two lines", "an exception",
        "another status", "not as stopped", "killed by somebody", "crashed",
    ],
)  # fmt: skip
def test_a_session_says_one_line_or_it_is_found(
    session: SessionFolder, code: int, stderr: str, kind: Kind, wrong: str | None
) -> None:
    if code == -signal.SIGSEGV:
        (session.folder / ".partial-x").mkdir()
    assert list(said_badly(Ended(code=code, stdout="", stderr=stderr), kind, session)) == (
        [] if wrong is None else [wrong]
    )


def test_a_session_that_does_not_complete_is_found(session: SessionFolder) -> None:
    done = Ended(code=0, stdout='{"complete": true}', stderr="")
    assert list(incomplete(done, session)) == []
    assert list(incomplete(replace(done, code=2, stderr="rematch: x"), session)) == [
        "resumed: exit status 2: rematch: x"
    ]
    shutil.rmtree(session.folder / trial_ids(session)[0])
    assert list(incomplete(done, session)) == ["resumed: not complete"]


def test_lost_money_is_found(session: SessionFolder) -> None:
    record = next(session.records())
    assert list(unbalanced(record)) == []
    gone = InvariantReading(name="sum", found=1, expected=2)
    found = record.model_copy(update={"invariants": (gone,)})
    assert list(unbalanced(found)) == [f"{record.planned.trial_id}: a balance does not hold"]
    found = record.model_copy(update={"outcome": Outcome.INCONSISTENT, "reason": "money"})
    assert list(unbalanced(found)) == [f"{record.planned.trial_id}: money"]


def test_a_process_that_runs_on_is_found_by_its_words_its_folder_or_its_environment(tmp_path: Path) -> None:
    sleep = [sys.executable, "-I", "-c", "import time; time.sleep(600)"]
    plain = {name: value for name, value in os.environ.items() if str(tmp_path) not in value}
    started = [
        subprocess.Popen([*sleep, str(tmp_path)], env=plain),
        subprocess.Popen(sleep, cwd=tmp_path, env=plain),
        subprocess.Popen(sleep, env={**plain, "TMPDIR": str(tmp_path / "tmp")}),
    ]
    stranger = subprocess.Popen(sleep, env=plain)
    try:
        found = {one.pid for one, _ in belonging_to(tmp_path)}
        assert found == {one.pid for one in started}
    finally:
        for one in (*started, stranger):
            one.kill()
            one.wait()
    assert belonging_to(tmp_path) == ()


def test_a_signal_goes_to_the_very_process_or_to_nobody() -> None:
    own = read_stat(os.getpid())
    assert own is not None
    assert Process(os.getpid(), own.start_ticks).runs
    assert not Process(os.getpid(), own.start_ticks + 1).send(signal.SIGKILL)


def test_a_campaign_is_kept_and_its_table_stands_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/faults.md").write_text(f"above\n{KEPT.begin}\n{KEPT.end}\nbelow\n")
    ran = (
        line(1, KILLED, "held"),
        line(2, KILLED, "late"),
        line(3, DISK, "unavailable", reason="no right to mount"),
        line(4, KILLED, "violated", broken=("a trial | is gone",)),
    )
    KEPT.write(tmp_path, kept(ran, seed=7, planned=4))
    KEPT.write(tmp_path, kept(ran, seed=8, planned=1000))
    page = KEPT.write(tmp_path, kept(ran[:2], seed=7, planned=2)).read_text("utf-8")
    assert page.startswith("above\n") and page.endswith("below\n")
    assert "| 7 | 2 | 1 | 1 | 0 | 1 | 0 | 0.1 min | here |" in page
    assert "| 8 | 4 of 1,000 planned | 2 | 1 | 1 | 1 | 1 | 0.3 min | here |" in page
    assert f"| {KILLED.name} | 3 | 2 | 1 | 2 | 0 | 4.2 s |" in page, (
        "a seed that runs again takes its own place"
    )
    assert f"seed 8: {DISK.name}: no right to mount" in page
    assert f"seed 8, number 4: {KILLED.name}: a trial \\| is gone" in page
    assert [one.seed for one in KEPT.read(tmp_path)] == [8, 7]


def test_the_table_of_the_page_is_that_of_the_record() -> None:
    text = (ROOT / "docs/faults.md").read_text("utf-8")
    assert text.partition(KEPT.begin)[2].partition(KEPT.end)[0].strip() == table(KEPT.read(ROOT)).strip()


def test_the_page_names_every_kind() -> None:
    text = (ROOT / "docs/faults.md").read_text("utf-8")
    acts = {kind.name.partition(":")[0] for kind in KINDS}
    assert {name for name in acts if name not in text} == set()


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/faults.json").write_text(json.dumps([{"seed": "x"}]))
    with pytest.raises(InputError, match=r"faults\.json"):
        KEPT.read(tmp_path)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("faults", "--minutes", "0"), "--minutes"),
        (("faults", "--only", "0"), "--only"),
        (("faults", "--only", "3", "--minutes", "1"), "--only"),
        (("faults", "--jobs", "0"), "--jobs"),
        (("faults", "coverage"), "NAMES"),
        (("coverage", "--only", "3"), "--only"),
        (("coverage", "--jobs", "2"), "--jobs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...], place: str) -> None:
    code, out, err = run_here(ROOT, "verify", *words)
    assert code == 2 and out == ""
    (line,) = err.splitlines()
    assert place in line


def test_nothing_is_promised_of_a_session_that_had_not_begun(tmp_path: Path) -> None:
    assert finished(SessionFolder(tmp_path / "x" / "y"), promised=True) == Kept()
    assert finished(SessionFolder(tmp_path / "x" / "y")) == Kept()


def test_what_a_session_said_names_no_place_of_the_machine_also_where_a_path_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    root = Path("/var/tmp/rematch-faults-29yu_nc2/project")
    assert nameless(f"{root}/data: no space left", root) == "{root}/data: no space left"
    assert nameless(
        "no answer to '/home/somebody/python3 -I /var/tmp/rematch-faults-29yu_n': ended", root
    ) == ("no answer to '{home}/python3 -I {scene}': ended")

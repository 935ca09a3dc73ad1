# SPDX-License-Identifier: Apache-2.0
"""A campaign of faults goes on where it was stopped, and says honestly how much of it ran."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.verify.faults import jobs
from harness.verify.faults.jobs import Task, part, shared
from harness.verify.faults.journal import FaultLine, Journal, last_of_each, still_to_do
from harness.verify.faults.link import Namespace
from harness.verify.faults.page import kept
from harness.verify.faults.plan import CLUSTER_KINDS, KINDS, Fault, Kind, plan
from harness.verify.stopping import stopping

SEED = 7


def line(one: Fault, came: str = "held", *, place: str = "here") -> FaultLine:
    plain = {"number": one.number, "kind": one.kind.name, "came": came, "took_s": 1.0, "place": place}
    return FaultLine.model_validate({**plain, "broken": ("lost",) if came == "violated" else ()})


FIVE = tuple(itertools.islice(plan(SEED), 5))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    (tmp_path / "docs").mkdir()
    return Journal(tmp_path / "results/faults/faults-7.jsonl", tmp_path / "docs/faults-7.jsonl")


def test_what_ran_is_not_run_again(journal: Journal) -> None:
    assert list(still_to_do(FIVE, journal.read(), "here")) == list(FIVE)
    for one in (FIVE[3], FIVE[0]):
        journal.append(line(one))
    assert [one.number for one in still_to_do(FIVE, journal.read(), "here")] == [2, 3, 5]


def test_a_violated_fault_is_repeated_by_another_source_only(journal: Journal) -> None:
    journal.append(line(FIVE[0], "violated"))
    assert FIVE[0] not in still_to_do(FIVE, journal.read(), "here")
    assert FIVE[0] in still_to_do(FIVE, journal.read(), "mended")
    journal.append(line(FIVE[0], place="mended"))
    assert FIVE[0] not in still_to_do(FIVE, journal.read(), "mended")
    one = kept(journal.read(), seed=SEED, planned=5)
    assert one.violations == () and one.mended == (f"1: {FIVE[0].kind.name}: lost",)


def test_lines_that_were_kept_count_and_each_line_counts_once(journal: Journal) -> None:
    journal.append(line(FIVE[0]))
    journal.keep()
    journal.append(line(FIVE[1]))
    assert [one.number for one in journal.read()] == [1, 2]
    journal.file.unlink()
    assert [one.number for one in journal.read()] == [1]


def test_a_line_that_was_cut_is_taken_for_none_and_makes_way(journal: Journal) -> None:
    journal.append(line(FIVE[0]))
    with journal.file.open("ab") as stream:
        stream.write(b'{"number": 2, "ki')
    assert list(last_of_each(journal.read())) == [1]
    journal.append(line(FIVE[2]))
    assert list(last_of_each(journal.read())) == [1, 3]


def test_a_damaged_line_is_refused_with_its_number(journal: Journal) -> None:
    journal.append(line(FIVE[0]))
    with journal.file.open("ab") as stream:
        stream.write(b'{"number": 0}\n')
    with pytest.raises(InputError, match=r"faults-7\.jsonl: line 2"):
        journal.read()


@pytest.mark.parametrize("kinds", [KINDS, CLUSTER_KINDS], ids=["machine", "cluster"])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_each_scene_belongs_to_one_process(kinds: tuple[Kind, ...], n: int) -> None:
    groups = shared(kinds, n)
    assert all(groups) and len(groups) <= n
    assert Counter(scene for group in groups for scene in group) == Counter({kind.scene for kind in kinds})


def test_the_parts_of_a_campaign_are_all_of_it(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    met: list[int] = []

    def run(faults: itertools.islice[Fault], _clone: Path, **_: object) -> None:
        met.extend(one.number for one in faults)

    monkeypatch.setattr(jobs, "run", run)
    journal.append(line(next(plan(SEED))))
    task = Task(
        clone=tmp_path, journal=journal, seed=SEED, kinds=KINDS, place="here", number=100, seconds=None, quiet=True
    )  # fmt: skip
    for group in shared(KINDS, 2):
        part(task, group)
    assert sorted(met) == [*range(2, 101)]


def test_two_processes_have_no_network_in_common() -> None:
    assert Namespace(number=2 * 7 % 16000 + 1).far != Namespace(number=2 * 8 % 16000).far
    assert Namespace().number % 2 == 0


def test_only_the_first_signal_interrupts() -> None:
    cleaned = False
    with stopping() as came:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGINT)
            cleaned = True
    assert cleaned and came == [signal.SIGTERM, signal.SIGINT]

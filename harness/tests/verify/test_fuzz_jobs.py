# SPDX-License-Identifier: Apache-2.0
"""A campaign by several processes reads the same files as one does, whatever becomes of a process."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.tests.support.command import run_here
from harness.tests.verify.test_fuzz import ROOT
from harness.verify.fuzz import campaign
from harness.verify.fuzz.campaign import Campaign, run
from harness.verify.fuzz.jobs import AT_A_TIME, Children, in_portions, run_jobs
from harness.verify.fuzz.readers import Read, Reader

N = 3 * AT_A_TIME + 7


def reader(name: str, read: Read) -> Reader:
    return Reader(
        name=name, form="lines", recordings=(b"one\ntwo\nthree\n", b"1\n2\n"), read=read, names=None
    )


def noting(notes: Path) -> tuple[Reader, ...]:
    """Two readers that note what they were given, and refuse some of it."""

    def read(data: bytes, _folder: Path, rng: random.Random) -> None:
        with (notes / str(os.getpid())).open("a") as stream:
            stream.write(f"{data.hex()} {rng.random()}\n")
        if len(data) % 5 == 0:
            raise InputError("five")
        if len(data) % 7 == 0:
            raise KeyError(len(data))

    return reader("first", read), reader("second", read)


def noted(notes: Path) -> Counter[str]:
    return Counter(line for path in notes.iterdir() for line in path.read_text().splitlines())


def told(found: Campaign) -> object:
    counts = {name: (one.inputs, one.read, one.refused, one.findings) for name, one in found.tallies.items()}
    return counts, found.findings, found.seen


def test_files_depend_on_seed_and_number_and_not_on_the_number_of_processes(tmp_path: Path) -> None:
    seen, said = [], []
    for jobs in (0, 1, 3):
        notes, scratch = tmp_path / f"notes-{jobs}", tmp_path / f"scratch-{jobs}"
        notes.mkdir()
        scratch.mkdir()
        every = noting(notes)
        if jobs:
            found = run_jobs(every, scratch, seed=4, jobs=jobs, inputs=N)
            assert len(list(notes.iterdir())) <= jobs
        else:
            found = run(every, scratch, seed=4, inputs=N)
        seen.append(noted(notes))
        said.append(told(found))
        assert found.inputs == N == seen[-1].total() and found.findings
    assert seen[0] == seen[1] == seen[2]
    assert said[0] == said[1] == said[2]


def test_a_process_stays_alive_over_many_files(tmp_path: Path) -> None:
    (notes := tmp_path / "notes").mkdir()
    run_jobs(noting(notes), tmp_path, seed=1, jobs=2, inputs=N)
    assert len(list(notes.iterdir())) <= 2 < N // AT_A_TIME


@pytest.mark.parametrize(("jobs", "deadly"), [(1, {5}), (2, {0, 230, 231, N - 1})])
def test_a_process_that_ends_in_a_file_is_a_finding_and_the_others_are_read(
    jobs: int, deadly: set[int], tmp_path: Path
) -> None:
    def make(_original: bytes, rng: random.Random) -> bytes:
        return bytes(rng.randrange(256) for _ in range(20))

    def read(data: bytes, _folder: Path, _rng: random.Random) -> None:
        if order[data] in deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    one = Reader(name="deadly", form="bytes", recordings=(b"",), read=read, names=None, make=make)
    order = {one.input(campaign.nth([one], 9, n)[1]): n for n in range(N)}
    assert len(order) == N
    found = run_jobs([one], tmp_path, seed=9, jobs=jobs, inputs=N)
    assert found.inputs == N and found.tallies["deadly"].findings == len(deadly)
    (finding,) = found.findings.values()
    assert finding.what == "process: ended by signal 9" and order[finding.data] in deadly


def test_a_library_that_never_comes_back_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "LONGEST_CPU_S", 0.1)

    def read(_data: bytes, _folder: Path, _rng: random.Random) -> None:
        sum(itertools.repeat(0))  # no signal is looked at in there

    found = run_jobs([reader("endless", read)], tmp_path, seed=1, jobs=1, inputs=1)
    (finding,) = found.findings.values()
    assert finding.what == f"process: ended by signal {int(signal.SIGPROF)}"


def test_a_campaign_that_is_stopped_keeps_what_was_answered_and_leaves_no_process(tmp_path: Path) -> None:
    def numbers() -> Iterator[range]:
        yield from itertools.islice(in_portions(None), 3)
        raise KeyboardInterrupt

    (notes := tmp_path / "notes").mkdir()
    every = noting(notes)
    with Children(every, tmp_path, seed=1, jobs=2) as children:
        found = children.run(numbers(), ends_s=None, say=None)
    assert 0 < found.inputs == noted(notes).total() <= 3 * AT_A_TIME
    assert multiprocessing.active_children() == []


def test_no_more_files_are_given_after_the_time_is_up(tmp_path: Path) -> None:
    (notes := tmp_path / "notes").mkdir()
    found = run_jobs(noting(notes), tmp_path, seed=1, jobs=2, seconds=0.05)
    assert found.inputs == noted(notes).total()


@pytest.mark.parametrize(
    ("n", "portions"), [(1, [1]), (AT_A_TIME, [AT_A_TIME]), (AT_A_TIME + 1, [AT_A_TIME, 1])]
)
def test_portions_have_every_number_once(n: int, portions: list[int]) -> None:
    every = list(in_portions(n))
    assert [len(one) for one in every] == portions
    assert list(itertools.chain.from_iterable(every)) == list(range(n))


def test_nobody_to_do_it_is_refused() -> None:
    code, _, err = run_here(ROOT, "verify", "fuzz", "--jobs", "0")
    assert code == 2 and "--jobs" in err
    code, _, err = run_here(ROOT, "verify", "soak", "--jobs", "2")
    assert code == 2 and "--jobs" in err

# SPDX-License-Identifier: Apache-2.0
"""Duets for real: two services side by side on CPUs that they exchange, each with an ordinary record."""

from __future__ import annotations

import itertools
import shutil
import signal
import time
from pathlib import Path

import pytest

from harness.agent.affinity import HEADER
from harness.agent.platforms import usable_cpus
from harness.errors import InputError
from harness.model import Outcome, Phase, TrialRecord
from harness.runner.duet_arm import PARTNER_FAILED
from harness.session import Assembly, measure, prepare
from harness.store import SessionFolder
from harness.tests.support.available import needs
from harness.tests.support.instances import eventually
from harness.tests.support.sessions import (
    LIMITS,
    command_line,
    make_session_project,
    running_below,
    said,
    tiny_assembly,
    tiny_folder,
)

pytestmark = needs(None if len(usable_cpus()) > 1 else "two CPUs are needed, and this machine gives one")

#: Another variant ends under load; a second one as the reference, but for its name.
SAME = """
[variants.same]
implementation = "misbehaving"
"""


def side_by_side(root: Path, *, other: str = "crash_after = 40", duration_s: float = 1.5) -> Path:
    """Lay out the tiny project as a duet, with two users for a time in the place of loops."""
    make_session_project(root, other=other)
    file = root / "harness" / "experiments" / "tiny.toml"
    text = file.read_text().replace(
        'reference = "calm"\n', 'reference = "calm"\ndesign = "duet"\nexchange_s = 0.2\n'
    )
    text = text.replace("users = 2, loops = 5", f"users = 2, duration_s = {duration_s}")
    head, _, rest = text.partition("\n[variants.other]")
    file.write_text(f"{head}{SAME}\n[variants.other]{rest}")
    return root


def measured(root: Path) -> SessionFolder:
    assembly = tiny_assembly(root)
    folder = measure(
        assembly, prepare(assembly, "tiny", profile="smoke", host="local", seed=1), limits=LIMITS
    )
    assert folder.complete and folder.verify() == ()
    assert eventually(lambda: not running_below(root))
    return folder


def pair_of(folder: SessionFolder, variant: str) -> tuple[TrialRecord, TrialRecord]:
    """The trial of a variant (of the reference: its duplicate), and the one that ran beside it."""
    records = {record.planned.trial_id: record for record in folder.records()}
    mine = next(
        record
        for record in records.values()
        if record.planned.configuration.variant_name == variant
        and (variant != "calm" or record.planned.duplicate)
    )
    assert mine.planned.duet is not None
    return mine, records[mine.planned.duet.partner]


def phase(record: TrialRecord, name: str) -> Phase:
    return next(one for one in record.phases if one.name == name)


def exchanges(folder: SessionFolder, record: TrialRecord) -> list[list[str]]:
    with folder.open(record.planned.trial_id, "exchanges.csv") as stream:
        return [line.decode().strip().split(",") for line in stream]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session: three pairs, one of which fails."""
    made = side_by_side(tmp_path_factory.mktemp("duet"))
    measured(made)
    return made


@pytest.fixture
def folder(root: Path) -> SessionFolder:
    return tiny_folder(root)


@pytest.mark.parametrize("variant", ["same", "calm"])
def test_both_arms_are_loaded_over_the_same_seconds_and_name_each_other(
    folder: SessionFolder, variant: str
) -> None:
    one, two = pair_of(folder, variant)
    assert [one.outcome, two.outcome] == [Outcome.OK, Outcome.OK]
    assert one.duet is not None and two.duet is not None
    assert (one.duet.partner, two.duet.partner) == (two.planned.trial_id, one.planned.trial_id)
    mine, theirs = phase(one, "measurement"), phase(two, "measurement")
    assert max(mine.start.monotonic_s, theirs.start.monotonic_s) < min(
        mine.end.monotonic_s, theirs.end.monotonic_s
    )
    assert one.instance is not None and two.instance is not None
    assert one.instance.pid != two.instance.pid


def test_sets_of_cpus_are_apart_equal_and_exchanged(folder: SessionFolder) -> None:
    one, two = pair_of(folder, "same")
    assert one.duet is not None and two.duet is not None
    assert (one.duet.cpus, one.duet.partner_cpus) == (two.duet.partner_cpus, two.duet.cpus)
    assert not set(one.duet.cpus) & set(one.duet.partner_cpus)
    assert len(one.duet.cpus) == len(one.duet.partner_cpus) == len(usable_cpus()) // 2
    assert one.instance is not None and one.generator is not None
    assert one.instance.cpu_affinity == one.generator.cpu_affinity == one.duet.cpus
    assert "exchanged" in one.placement
    rows, others = exchanges(folder, one), exchanges(folder, two)
    assert rows[0] == HEADER.split(",")
    assert one.duet.n_exchanges == len(rows) - 2 > 2
    for before, after in itertools.pairwise(rows[1:]):
        assert (after[2], after[3]) == (before[3], before[2])
    assert [row[2] for row in rows[1:]] == [row[3] for row in others[1:]]
    assert all(int(row[4]) > 0 and int(row[5]) > 0 for row in rows[2:])


def test_what_the_partner_used_is_not_taken_for_a_neighbours_noise(folder: SessionFolder) -> None:
    one, two = pair_of(folder, "calm")
    for mine, theirs in ((one, two), (two, one)):
        used = {boundary.name: boundary.reading.cpu_s or 0.0 for boundary in theirs.boundaries}
        assert theirs.generator is not None and mine.duet is not None
        assert mine.duet.partner_cpu_s == pytest.approx(
            used["after-load"] - used["before-load"] + (theirs.generator.cpu_s or 0.0)
        )
    assert "shared_cores" not in one.flags and "headroom_unknown" not in one.flags


def test_who_runs_beside_a_trial_that_failed_has_failed_with_it(folder: SessionFolder) -> None:
    crashed, beside = pair_of(folder, "other")
    assert crashed.outcome == beside.outcome == Outcome.FAILED
    assert crashed.reason is not None and "the service ended" in crashed.reason
    assert beside.reason is not None
    assert beside.reason.startswith(
        f"{PARTNER_FAILED}: {crashed.planned.trial_id} (failed: the service ended"
    )


def test_a_pair_is_made_again_whole_and_what_is_left_of_one_has_failed(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "project"
    shutil.copytree(root, copy, symlinks=True)
    folder = tiny_folder(copy)
    kept = pair_of(folder, "same")
    half, lost = pair_of(folder, "calm")
    for record in (*kept, lost):
        shutil.rmtree(folder.folder / record.planned.trial_id)
    folder = measured(copy)
    again = pair_of(folder, "same")
    assert [one.outcome for one in again] == [Outcome.OK, Outcome.OK]
    assert again[0].started != kept[0].started
    assert pair_of(folder, "calm")[0] == half
    left = pair_of(folder, "calm")[1]
    assert left.outcome == Outcome.FAILED
    assert left.reason == (
        f"{PARTNER_FAILED}: {half.planned.trial_id} (recorded before the session was interrupted)"
    )


def test_an_interrupted_duet_leaves_nothing_running_and_goes_on(tmp_path: Path) -> None:
    root = side_by_side(tmp_path, duration_s=30.0)
    process = command_line(root, "measure", "tiny", "--profile", "smoke")
    assert eventually(lambda: sum(b"fake_client" in _words(pid) for pid in running_below(root)) == 2)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    code, _, _ = said(process)
    assert code == 130
    assert eventually(lambda: not running_below(root))
    assert not list(tiny_folder(root).records())


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def refused(root: Path, before: str, after: str, **changes: object) -> str:
    file = root / "harness" / "experiments" / "tiny.toml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))
    assembly: Assembly = tiny_assembly(root)
    assembly.__dict__.update(changes)
    with pytest.raises(InputError) as problem:
        prepare(assembly, "tiny", profile="smoke", host="local", seed=1)
    assert "\n" not in str(problem.value)
    return str(problem.value)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("users = 2, duration_s = 1.5", "users = 2, loops = 5", "duration_s is needed"),
        ('{ model = "closed", users = 2, duration_s = 1.5 }',
         '{ model = "open", rate_per_s = 5, duration_s = 2 }', "a closed loop is needed"),
        ('design = "duet"', 'design = "duet"\nkind = "startup"', "no load to run side by side"),
        ('[variants.same]\n', '[variants.same]\nruntime = { pin = "none" }\n', "each arm has a set of CPUs"),
        ('[variants.same]\n', '[variants.same]\nruntime = { cpus = 64 }\n', "half of the CPUs"),
    ],
    ids=["loops", "rate", "startup", "not pinned", "too many CPUs"],
)  # fmt: skip
def test_what_cannot_be_a_duet_is_refused_in_one_line(
    tmp_path: Path, before: str, after: str, words: str
) -> None:
    assert words in refused(side_by_side(tmp_path), before, after)

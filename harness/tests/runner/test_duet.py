# SPDX-License-Identifier: Apache-2.0
"""Duets for real: two services side by side on CPUs that they exchange, each with an ordinary record."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import signal
import time
from pathlib import Path

import pytest

from harness.agent.affinity import HEADER
from harness.agent.platforms import usable_cpus
from harness.errors import InputError
from harness.measure.runner.duet_arm import PARTNER_FAILED
from harness.measure.session import prepare
from harness.model import Outcome, Phase, TrialRecord
from harness.store import SessionFolder
from harness.tests.support import sessions
from harness.tests.support.available import needs
from harness.tests.support.instances import eventually

pytestmark = needs(None if len(usable_cpus()) > 1 else "two CPUs are needed, and this machine gives one")


def side_by_side(root: Path, *, duration_s: float = 1.5) -> Path:
    """Lay out the tiny project as a duet, with two users for a time in the place of loops."""
    sessions.make_session_project(root, other="crash_after = 40")
    file = root / "harness" / "experiments" / "tiny.toml"
    text = file.read_text().replace(
        'reference = "calm"\n', 'reference = "calm"\ndesign = "duet"\nexchange_s = 0.2\n'
    )
    text = text.replace("users = 2, loops = 5", f"users = 2, duration_s = {duration_s}")
    head, _, rest = text.partition("\n[variants.other]")
    file.write_text(f'{head}\n[variants.same]\nimplementation = "misbehaving"\n\n[variants.other]{rest}')
    return root


def pair_of(folder: SessionFolder, variant: str) -> tuple[TrialRecord, TrialRecord]:
    """The trial of a variant (of the reference: its duplicate), and the one that ran beside it."""
    records = {record.planned.trial_id: record for record in folder.records()}
    trial = next(
        record
        for record in records.values()
        if record.planned.configuration.variant_name == variant
        and (variant != "calm" or record.planned.duplicate)
    )
    assert trial.planned.duet is not None
    return trial, records[trial.planned.duet.partner]


def load_of(record: TrialRecord) -> Phase:
    return next(phase for phase in record.phases if phase.name == "measurement")


def exchanges(folder: SessionFolder, record: TrialRecord) -> list[list[str]]:
    with folder.open(record.planned.trial_id, "exchanges.csv") as stream:
        return [line.decode().strip().split(",") for line in stream]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session: three pairs, one of which fails."""
    made = side_by_side(tmp_path_factory.mktemp("duet"))
    sessions.measure_whole(sessions.tiny_assembly(made))
    return made


@pytest.mark.parametrize("variant", ["same", "calm"])
def test_both_arms_are_loaded_at_once_and_neither_is_noise(folder: SessionFolder, variant: str) -> None:
    arms = pair_of(folder, variant)
    begins = [load_of(record).start.monotonic_s for record in arms]
    assert max(begins) < min(load_of(record).end.monotonic_s for record in arms)
    for record, partner in (arms, arms[::-1]):
        assert record.outcome == Outcome.OK
        assert record.duet is not None and record.duet.partner == partner.planned.trial_id
        used = {boundary.name: boundary.reading.cpu_s or 0.0 for boundary in partner.boundaries}
        assert partner.generator is not None
        assert record.duet.partner_cpu_s == pytest.approx(
            used["after-load"] - used["before-load"] + (partner.generator.cpu_s or 0.0)
        )
        assert not {"shared_cores", "headroom_unknown"} & set(record.flags)
    assert arms[0].instance is not None and arms[1].instance is not None
    assert arms[0].instance.pid != arms[1].instance.pid


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


def test_who_runs_beside_a_trial_that_failed_has_failed_with_it(folder: SessionFolder) -> None:
    crashed, beside = pair_of(folder, "other")
    assert crashed.outcome == beside.outcome == Outcome.FAILED
    assert "the service ended" in (crashed.reason or "")
    why = f"{PARTNER_FAILED}: {crashed.planned.trial_id} (failed: the service ended"
    assert (beside.reason or "").startswith(why)


def test_a_pair_is_made_again_whole_and_what_is_left_of_one_has_failed(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "project"
    shutil.copytree(root, copy, symlinks=True)
    folder = sessions.tiny_folder(copy)
    kept = pair_of(folder, "same")
    half, lost = pair_of(folder, "calm")
    for record in (*kept, lost):
        shutil.rmtree(folder.folder / record.planned.trial_id)
    folder = sessions.measure_whole(sessions.tiny_assembly(copy))
    again = pair_of(folder, "same")
    assert [record.outcome for record in again] == [Outcome.OK, Outcome.OK]
    assert again[0].started != kept[0].started
    recorded, left = pair_of(folder, "calm")
    assert recorded == half and left.outcome == Outcome.FAILED
    assert left.reason == (
        f"{PARTNER_FAILED}: {half.planned.trial_id} (recorded before the session was interrupted)"
    )


def test_an_interrupted_duet_leaves_nothing_running_and_goes_on(tmp_path: Path) -> None:
    root = side_by_side(tmp_path, duration_s=30.0)
    process = sessions.command_line(root, "measure", "tiny", "--profile", "smoke")

    def both_are_loaded() -> bool:
        lines = []
        for pid in sessions.running_below(root):
            with contextlib.suppress(OSError):
                lines.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        return sum(b"fake_client" in line for line in lines) == 2

    assert eventually(both_are_loaded)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    code, _, _ = sessions.said(process)
    assert code == 130
    assert eventually(lambda: not sessions.running_below(root))
    assert not list(sessions.tiny_folder(root).records())


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
def test_what_cannot_be_a_duet_is_one_line(tmp_path: Path, before: str, after: str, words: str) -> None:
    file = side_by_side(tmp_path) / "harness" / "experiments" / "tiny.toml"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))
    with pytest.raises(InputError, match=rf"^[^\n]*{words}[^\n]*$"):
        prepare(sessions.tiny_assembly(tmp_path), "tiny", profile="smoke", host="local", seed=1)

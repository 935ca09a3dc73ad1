# SPDX-License-Identifier: Apache-2.0
"""Two trials at the same time, each with its own service and load generator, on two sets of CPUs that are exchanged.

Both start, wait for each other, and are warmed up and loaded over the same seconds. Each is an ordinary trial with an
ordinary record beside its partner's; the pair is the observation. If one of them cannot be used, neither can be.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

from harness.agent.affinity import Exchanger
from harness.measure.runner.context import Notes
from harness.measure.runner.duet_arm import DuetArm, Rendezvous, failed_with
from harness.measure.runner.pinning import place_two
from harness.measure.runner.record import trial_record
from harness.measure.runner.trial import Step, attempt
from harness.model import DuetRecord, Outcome, TrialRecord

EXCHANGES = "exchanges.csv"


def run_duet(first: Step, second: Step) -> tuple[TrialRecord, TrialRecord]:
    """Take two fresh instances through one configuration each, side by side; return what happened to either.

    Nothing that was started lives on when this returns or raises.

    Raises:
        InputError: there is one CPU only.
        MissingTool: a load generator is not there.
        OSError: a trial's folder cannot be written.
    """
    steps, arms = (first, second), _arms(first, second)
    exchanger, rendezvous = arms[0].exchanger, arms[0].rendezvous

    def go(number: int) -> Notes:
        (spec, context), arm = steps[number], arms[number]
        try:
            own = dataclasses.replace(context, host=arm.host, other_host=None, duet=arm)
            (notes,) = attempt([(spec, own)])
        except BaseException as problem:
            rendezvous.leave(number, type(problem).__name__)
            raise
        if notes.outcome != Outcome.OK:
            rendezvous.leave(number, _words(notes))
        return notes

    try:
        with ThreadPoolExecutor(1, thread_name_prefix="duet") as pool:
            beside = pool.submit(go, 1)
            try:
                notes = (go(0), beside.result())
            except BaseException as end:  # a signal may come while we wait, too
                rendezvous.leave(0, type(end).__name__)
                raise
    finally:
        exchanger.stop()
    a, b = (_recorded(number, notes, arms) for number in (0, 1))
    return a, b


def _arms(first: Step, second: Step) -> tuple[DuetArm, DuetArm]:
    planned = (first[0].planned, second[0].planned)
    seat, other_seat = planned[0].duet, planned[1].duet
    if seat is None or other_seat is None or {seat.side, other_seat.side} != {0, 1}:
        raise ValueError("two trials that were not planned as a duet")
    places = place_two(first[1].cpus, seat.interval_s, first[1].cores)
    placed = (places[seat.side], places[other_seat.side])
    sets = (placed[0].service or (), placed[1].service or ())
    exchanger = Exchanger(sets, interval_s=seat.interval_s, seed=first[0].seed)
    rendezvous = Rendezvous()
    a, b = (
        DuetArm(
            arm=number,
            partner=planned[1 - number].trial_id,
            placement=placed[number],
            exchanger=exchanger,
            rendezvous=rendezvous,
        )
        for number in (0, 1)
    )
    return a, b


def _recorded(number: int, pair: tuple[Notes, Notes], arms: tuple[DuetArm, DuetArm]) -> TrialRecord:
    notes, partner, arm = pair[number], pair[1 - number], arms[number]
    seat = notes.spec.planned.duet
    assert seat is not None
    if notes.outcome == Outcome.OK and partner.outcome != Outcome.OK:
        notes.outcome, notes.reason = Outcome.FAILED, failed_with(arm.partner, _words(partner))
    arm.exchanger.write(notes.spec.folder / EXCHANGES, number)
    duet = DuetRecord(
        partner=arm.partner,
        cpus=arm.placement.service or (),
        partner_cpus=arms[1 - number].placement.service or (),
        interval_s=seat.interval_s,
        n_exchanges=max(0, len(arm.exchanger.exchanges) - 1),
        partner_cpu_s=arm.partner_cpu_s,
        file=EXCHANGES,
    )
    return trial_record(notes).model_copy(update={"duet": duet})


def _words(notes: Notes) -> str:
    return f"{notes.outcome.value}: {notes.reason}" if notes.reason else notes.outcome.value

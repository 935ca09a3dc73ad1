# SPDX-License-Identifier: Apache-2.0
"""Two trials at the same time, each with its own service and load generator, on two sets of CPUs that are exchanged.

Both start, wait for each other, and are warmed up and loaded over the same seconds. Each is an ordinary trial with an
ordinary record beside its partner's; the pair is the observation. If one of them cannot be used, neither can be.
"""

from __future__ import annotations

import dataclasses
import threading

from harness.agent.affinity import Exchanger
from harness.model import DuetRecord, Outcome, TrialRecord
from harness.runner.context import Notes
from harness.runner.duet_arm import DuetArm, Rendezvous, failed_with
from harness.runner.pinning import place_two
from harness.runner.record import trial_record
from harness.runner.trial import Step, attempt

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
    results: dict[int, Notes] = {}
    raised: list[BaseException] = []

    def go(number: int) -> None:
        spec, context = steps[number]
        try:
            arm = arms[number]
            own = dataclasses.replace(context, host=arm.host, other_host=None, duet=arm)
            (notes,) = attempt([(spec, own)])
        except BaseException as problem:
            rendezvous.leave(number, type(problem).__name__)
            raise
        results[number] = notes
        if notes.outcome != Outcome.OK:
            rendezvous.leave(number, _words(notes))

    def beside() -> None:
        try:
            go(1)
        except BaseException as problem:  # raised where somebody listens
            raised.append(problem)

    thread = threading.Thread(target=beside, name="duet")
    thread.start()
    try:
        go(0)
        thread.join()
    except BaseException as end:  # a signal may come while we wait, too
        rendezvous.leave(0, type(end).__name__)
        raise
    finally:
        thread.join()
        exchanger.stop()
    if raised:
        raise raised[0]
    a, b = (_recorded(n, results[n], results[1 - n], arms[n]) for n in (0, 1))
    return a, b


def _arms(first: Step, second: Step) -> tuple[DuetArm, DuetArm]:
    (item, context), (two, _) = first, second
    seat, other_seat = item.planned.duet, two.planned.duet
    if seat is None or other_seat is None or {seat.side, other_seat.side} != {0, 1}:
        raise ValueError("two trials that were not planned as a duet")
    places = place_two(context.cpus, seat.interval_s, context.cores)
    placed = (places[seat.side], places[other_seat.side])
    sets = tuple(place.service or () for place in placed)
    exchanger = Exchanger((sets[0], sets[1]), interval_s=seat.interval_s, seed=item.seed)
    rendezvous = Rendezvous()
    a, b = (
        DuetArm(
            arm=number,
            partner=(two, item)[number].planned.trial_id,
            placement=placed[number],
            partner_placement=placed[1 - number],
            interval_s=seat.interval_s,
            exchanger=exchanger,
            rendezvous=rendezvous,
        )
        for number in (0, 1)
    )
    return a, b


def _recorded(number: int, notes: Notes, partner: Notes, arm: DuetArm) -> TrialRecord:
    if notes.outcome == Outcome.OK and partner.outcome != Outcome.OK:
        notes.outcome, notes.reason = Outcome.FAILED, failed_with(arm.partner, _words(partner))
    arm.exchanger.write(notes.spec.folder / EXCHANGES, number)
    duet = DuetRecord(
        partner=arm.partner,
        cpus=arm.placement.service or (),
        partner_cpus=arm.partner_placement.service or (),
        interval_s=arm.interval_s,
        n_exchanges=max(0, len(arm.exchanger.exchanges) - 1),
        partner_cpu_s=arm.partner_cpu_s,
        file=EXCHANGES,
    )
    return trial_record(notes).model_copy(update={"duet": duet})


def _words(notes: Notes) -> str:
    return f"{notes.outcome.value}: {notes.reason}" if notes.reason else notes.outcome.value

# SPDX-License-Identifier: Apache-2.0
"""What whoever takes a sampler's ticks must do. Subclass in a test module and bring a ``glancer``."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness.agent.process_tree import ProcessReader, ProcessReading
from harness.agent.processes import read_stat
from harness.agent.sampler import Calls, PythonTicks, Schedule
from harness.tests.support.instances import eventually
from harness.tests.support.patience import patient
from harness.tests.support.puppet import Puppet, puppet_maker

MIB = 1024 * 1024
HZ = 200.0
#: A schedule whose next tick nobody lives to see.
NEVER_HZ = 1e-6


def late_schedule(hz: float, n_late: float) -> Schedule:
    """A schedule of which this many periods have passed without a tick."""
    period_ns = 1e9 / hz
    begin_ns = time.monotonic_ns() - int(n_late * period_ns)
    return Schedule(begin_ns=begin_ns, period_ns=period_ns, last_ns=begin_ns)


class TickSourceContract:
    """Needs a fixture ``glancer``; ``cpu_step_s``: the step in which it reads CPU time."""

    cpu_step_s = 0.0

    @pytest.fixture
    def puppet(self) -> Iterator[Puppet]:
        with puppet_maker() as make:
            yield make()

    @pytest.fixture
    def reader(self, glancer: PythonTicks, puppet: Puppet) -> Iterator[ProcessReader]:
        one = glancer.tree.process(puppet.pid, puppet.start_ticks)
        yield one
        one.close()

    @pytest.fixture
    def readings(
        self, glancer: PythonTicks, reader: ProcessReader
    ) -> Callable[[], list[ProcessReading | None]]:
        """What three more ticks read of the puppet."""

        def take() -> list[ProcessReading | None]:
            ticks = glancer.take(Schedule.beginning_now(HZ), 3, [reader], Calls())
            return [reading for ((_, reading),) in ticks]

        return take

    # --- the schedule

    def test_ticks_are_never_early_and_each_is_taken_or_missed(
        self, glancer: PythonTicks, reader: ProcessReader
    ) -> None:
        schedule = Schedule.beginning_now(HZ)
        schedule.count(time.monotonic_ns())
        first = schedule.number
        begin_s = schedule.begin_ns / 1e9
        ticks = glancer.take(schedule, 20, [reader], Calls())
        assert time.monotonic_ns() >= schedule.due_ns
        assert schedule.ticks == 1 + len(ticks)
        assert schedule.ticks + schedule.missed == schedule.number >= 20
        moments = [at_s for ((at_s, _),) in ticks]
        assert moments == sorted(moments)
        for number, moment in enumerate(moments, first):
            assert moment >= begin_s + number / HZ - 1e-6
        assert 1 / HZ <= schedule.longest_gap_ns / 1e9 <= time.monotonic() - begin_s

    def test_a_late_tick_is_taken_once_and_what_it_made_impossible_is_missed(
        self, glancer: PythonTicks
    ) -> None:
        schedule = late_schedule(20.0, 10.5)
        ticks = glancer.take(schedule, 12, [], Calls())
        assert 1 <= len(ticks) <= 2
        assert schedule.missed >= 10
        assert schedule.ticks == len(ticks)
        assert schedule.ticks + schedule.missed == schedule.number >= 12
        assert schedule.longest_gap_ns >= 10.5 / 20.0 * 1e9

    def test_a_late_tick_does_not_shift_those_after_it(
        self, glancer: PythonTicks, reader: ProcessReader
    ) -> None:
        schedule = late_schedule(20.0, 10.5)
        _, *others = glancer.take(schedule, 17, [reader], Calls())
        assert time.monotonic_ns() >= schedule.due_ns == schedule.begin_ns + schedule.number * 50_000_000
        late_s = [(at_s - schedule.begin_ns / 1e9) % 0.05 for ((at_s, _),) in others]
        assert min(late_s) < 0.02  # shifted by the first one, each would be half a period late

    def test_one_that_is_late_by_more_than_it_was_asked_for_takes_one_tick(
        self, glancer: PythonTicks
    ) -> None:
        schedule = late_schedule(HZ, 100.5)
        assert len(glancer.take(schedule, 5, [], Calls())) == 1
        assert schedule.number == 1 + schedule.missed >= 101

    def test_nothing_is_taken_of_what_is_not_asked_for(
        self, glancer: PythonTicks, reader: ProcessReader
    ) -> None:
        schedule = late_schedule(HZ, 3.5)
        assert glancer.take(schedule, 0, [reader], Calls()) == []
        assert (schedule.ticks, schedule.missed, schedule.number) == (0, 0, 0)

    def test_a_period_that_is_no_whole_number_does_not_drift(self, glancer: PythonTicks) -> None:
        begin_ns = time.monotonic_ns() - 3600 * 10**9
        schedule = Schedule(begin_ns=begin_ns, period_ns=1e9 / 300.0, number=1_080_000, last_ns=begin_ns)
        glancer.take(schedule, 1_080_003, [], Calls())
        assert schedule.due_ns - begin_ns == pytest.approx(schedule.number * 1e9 / 300, abs=10)

    # --- calls

    def test_a_call_to_stop_is_heard_in_the_middle_of_a_sleep(
        self, glancer: PythonTicks, reader: ProcessReader
    ) -> None:
        calls = Calls()
        schedule = Schedule.beginning_now(NEVER_HZ)
        schedule.count(time.monotonic_ns())
        taken: list[object] = []
        thread = threading.Thread(
            target=lambda: taken.append(glancer.take(schedule, 3, [reader], calls)), daemon=True
        )
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
        calls.stop = True
        thread.join(patient(10.0))
        assert taken == [[]]
        assert (schedule.ticks, schedule.number) == (1, 1)

    def test_a_call_to_stop_comes_before_a_tick_that_is_due(self, glancer: PythonTicks) -> None:
        calls = Calls()
        calls.stop = True
        schedule = late_schedule(HZ, 3.5)
        assert glancer.take(schedule, 20, [], calls) == []
        assert schedule.number == 0

    def test_the_tick_after_something_was_added_is_left_to_the_caller(self, glancer: PythonTicks) -> None:
        calls = Calls()
        calls.added = True
        schedule = Schedule.beginning_now(HZ)
        schedule.count(time.monotonic_ns())
        assert glancer.take(schedule, 20, [], calls) == []
        assert time.monotonic_ns() >= schedule.due_ns
        assert schedule.number == 1 + schedule.missed
        assert not calls.stop

    def test_something_added_meanwhile_ends_it(self, glancer: PythonTicks) -> None:
        calls = Calls()
        timer = threading.Timer(0.05, lambda: setattr(calls, "added", True))
        timer.start()
        schedule = Schedule.beginning_now(HZ)
        ticks = glancer.take(schedule, 100_000, [], calls)
        timer.join()
        assert len(ticks) == schedule.ticks > 0
        assert schedule.number < 100_000

    # --- readings

    def test_each_tick_reads_every_process_in_their_order(self, glancer: PythonTicks, puppet: Puppet) -> None:
        with puppet_maker() as make, ExitStack() as stack:
            other = make()
            other.do("held = bytearray(b'x') * (64 << 20)")
            readers = [glancer.tree.process(one.pid) for one in (puppet, puppet, other)]
            for reader in readers:
                stack.callback(reader.close)
            ticks = glancer.take(Schedule.beginning_now(HZ), 4, readers, Calls())
        assert ticks
        for tick in ticks:
            sizes = [reading.rss_bytes or 0 for _, reading in tick if reading is not None]
            assert len(sizes) == 3
            assert sizes[0] == sizes[1] < sizes[2] - 60 * MIB

    def test_of_a_stopped_process_it_reads_the_very_numbers_that_the_kernel_gives_anybody(
        self, puppet: Puppet, reader: ProcessReader, readings: Callable[[], list[ProcessReading | None]]
    ) -> None:
        os.kill(puppet.pid, signal.SIGSTOP)
        # "eventually": the kernel lets it run a little further before it stands still
        assert eventually(lambda: set(readings()) == {reader.read()})
        assert reader.read() is not None
        os.kill(puppet.pid, signal.SIGCONT)

    def test_memory_and_cpu_time_grow_with_the_process(
        self, puppet: Puppet, readings: Callable[[], list[ProcessReading | None]]
    ) -> None:
        before = readings()[-1]
        puppet.do("held = bytearray(b'x') * (64 << 20)")
        puppet.do("a = time.process_time(); [0 for _ in iter(lambda: time.process_time() - a < 0.1, False)]")
        after = readings()[-1]
        assert before is not None and after is not None
        assert 63 * MIB < (after.rss_bytes or 0) - (before.rss_bytes or 0) < 72 * MIB
        assert 0.1 - 2 * self.cpu_step_s <= (after.cpu_s or 0) - (before.cpu_s or 0) < 1.0

    def test_a_process_that_ends_in_the_middle_is_read_until_then_and_never_after(
        self, glancer: PythonTicks, puppet: Puppet, reader: ProcessReader
    ) -> None:
        read: list[ProcessReading | None] = []
        schedule, calls = Schedule.beginning_now(HZ), Calls()

        def over() -> bool:
            ticks = glancer.take(schedule, schedule.number + 10, [reader], calls)
            read.extend(reading for ((_, reading),) in ticks)
            return read[-1] is None

        assert not over()
        puppet.do("threading.Timer(0.05, os._exit, (0,)).start()")
        assert eventually(over)
        alive = [reading is not None for reading in read]
        assert alive == sorted(alive, reverse=True)

    def test_neither_a_zombie_nor_one_that_is_gone_has_a_reading(
        self, puppet: Puppet, readings: Callable[[], list[ProcessReading | None]]
    ) -> None:
        puppet.process.kill()
        assert eventually(lambda: (stat := read_stat(puppet.pid)) is not None and stat.ended)
        assert set(readings()) == {None}
        puppet.end()
        assert read_stat(puppet.pid) is None
        assert set(readings()) == {None}

# SPDX-License-Identifier: Apache-2.0
"""The load generators of one trial: one as a rule, or several that divide the load, here or on several hosts.

Several are engines of their own, or members of a tool's own distribution, which a coordinator commands
(``load_coordination``).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.hosts import Command, Process, Sampling
from harness.load_coordination import Meeting
from harness.loadgen.base import Endpoint, LoadCommand, LoadGenerator, LoadOrder
from harness.loadgen.distribution import divided
from harness.loadgen.several import seed_of
from harness.model import GeneratorRecord, Load, LoadProfile
from harness.sampling import Watched
from harness.trial_order import LoadPlace, Notes, Parts, TrialOrder, tidy_values, tidy_words

#: What a sampler on the load's own host writes, beside the load's files.
OWN_SAMPLES, OWN_MACHINE = "generator-samples.csv", "machine-load.csv"


@dataclass
class Engine:
    """One generator: its share of the load, where it runs, and what became of it.

    ``ours``: its folder here; ``there``: the same on its host. ``number`` counts from 1, ``of``: how many;
    number 0 is the coordinator of several. ``secrets``: names of files in the folder that nobody keeps.
    """

    number: int
    of: int
    place: LoadPlace
    ours: Path
    there: Path
    command: LoadCommand
    record: GeneratorRecord
    secrets: tuple[str, ...] = ()
    running: Process | None = None
    own_sampler: Sampling | None = None
    exit_code: int | None = None

    @property
    def name(self) -> str:
        """What a failure calls it."""
        if self.number == 0:
            return f"the coordinator of {self.of} load generators"
        return "the load generator" if self.of == 1 else f"load generator {self.number} of {self.of}"

    @property
    def role(self) -> str:
        """What samples call it; each begins as the first one's does."""
        if self.number == 0:
            return "generator-coordinator"
        return "generator" if self.number == 1 else f"generator-{self.number}"

    def begin(self, sampler: Sampling, parts: Parts, notes: Notes) -> None:
        """Start it and have it sampled: by a sampler of its own where it is not on the service's host."""
        host = self.place.host
        self.running = running = host.spawn(
            Command(
                argv=self.command.argv,
                folder=self.there,
                environment=self.command.environment,
                cpus=notes.placement.generator if notes.placement else None,
                stdout=Path(self.command.stdout),
                stderr=Path(self.command.stderr),
            )
        )
        if host.here:
            parts.ledger.note(pid=running.pid, role=f"load generator {self.record.name}")
        if parts.load_apart:
            files = (self.there / OWN_SAMPLES, self.there / OWN_MACHINE)
            self.own_sampler = sampler = host.sampler(*files, parts.sampling_hz)
        watched = Watched(
            pid=running.pid, start_ticks=running.start_ticks, cpu_at_launch_s=running.cpu_at_launch_s
        )
        sampler.add(self.role, watched)

    def ended(self, wait_s: float) -> bool:
        """Wait so long for its end; whether it has ended."""
        if self.exit_code is None and self.running is not None:
            self.exit_code = self.running.wait(wait_s)
            if self.exit_code is None:
                self.running.cpu_s()  # kept there: the account of a child that nobody waits for closes with it
        return self.exit_code is not None

    def end(self, order: TrialOrder, parts: Parts) -> None:
        """End it for certain, and keep how it ended."""
        if self.running is None:
            return
        self.running.stop(grace_s=order.limits.generator_stop_s)
        if self.place.host.here:
            parts.ledger.forget(self.running.pid)
        if self.own_sampler is not None:
            self.own_sampler.stop()
        ended = {"exit_code": self.exit_code, "cpu_s": self.running.cpu_s()}
        self.record = self.record.model_copy(update=ended)

    def close(self) -> None:
        """Bring back what it left; what a tool made for itself goes (JMeter's JVM keeps preferences)."""
        try:
            self.place.host.close_folder(self.ours)
        finally:
            forget(self.ours, self.secrets)
        for path in self.ours.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)


def make_engines(
    load: Load,
    generator: LoadGenerator,
    endpoint: Endpoint,
    order: TrialOrder,
    parts: Parts,
    notes: Notes,
    meeting: Meeting | None = None,
) -> Iterator[Engine]:
    """Yield the trial's generators, none started yet, each with its files in its folder.

    One has the trial's folder ``load``, several have ``load/1``, ``load/2`` and so on, and take turns in
    going to the load hosts.

    Raises:
        UnsupportedLoad, MissingTool: the load cannot be divided, or a tool is not there.
    """
    places = parts.load_places
    profiles = divided(load, generator, load.processes * len(places))
    for number, share in enumerate(profiles, start=1):
        engine = _Making(
            number=number,
            of=len(profiles),
            place=places[(number - 1) % len(places)],
            name=str(number) if len(profiles) > 1 else "",
            secrets={} if meeting is None else meeting.secrets,
        )
        asked = engine.asked(share, endpoint, order, notes)
        command = (
            generator.command(asked)
            if meeting is None
            else meeting.distribution.member(asked, meeting.seats, number)
        )
        yield engine.made(command, generator, order, notes)


def make_coordinator(
    load: Load,
    endpoint: Endpoint,
    generator: LoadGenerator,
    order: TrialOrder,
    parts: Parts,
    notes: Notes,
    meeting: Meeting,
) -> Engine:
    """Return the process that commands the generators of a tool's own distribution, on the first load host.

    Raises:
        MissingTool: the tool is not there.
    """
    engine = _Making(
        number=0,
        of=len(meeting.seats.members),
        place=parts.load_places[0],
        name="coordinator",
        secrets=meeting.secrets,
    )
    asked = engine.asked(load.profile, endpoint, order, notes)
    return engine.made(meeting.distribution.coordinator(asked, meeting.seats), generator, order, notes)


@dataclass(kw_only=True)
class _Making:
    """One engine on its way: first its folder, which its command needs, then its files.

    ``name``: of its folder below ``load``; empty: that itself.
    """

    number: int
    of: int
    place: LoadPlace
    name: str
    secrets: dict[str, bytes]
    ours: Path = Path()
    there: Path = Path()

    def asked(self, share: LoadProfile, endpoint: Endpoint, order: TrialOrder, notes: Notes) -> LoadOrder:
        """Make its folder, and say what is asked of it there."""
        self.ours = order.folder / "load" / self.name
        self.ours.mkdir(exist_ok=True)
        self.there = self.place.host.open_folder(self.ours)
        notes.folders_there[self.there] = self.ours
        return LoadOrder(
            profile=share,
            requests=order.requests,
            endpoint=endpoint,
            folder=self.there,
            seed=seed_of(order.seed, self.number, self.of),
        )

    def made(self, command: LoadCommand, generator: LoadGenerator, order: TrialOrder, notes: Notes) -> Engine:
        """Put its files into its folder."""
        host = self.place.host
        command = _in_words_of(self.place, command)
        for name, content in command.files.items():
            (self.ours / name).write_text(content, "utf-8")
        try:
            for name, secret in self.secrets.items():
                (self.ours / name).touch(mode=0o600)
                (self.ours / name).write_bytes(secret)
            for name in (*command.files, *self.secrets) if not host.here else ():
                host.put(self.ours / name, self.there / name)
        except BaseException:
            forget(self.ours, self.secrets)
            raise
        record = _record(generator, command, order, notes)
        if self.of > 1:
            folder = self.ours.relative_to(order.folder).as_posix()
            record = record.model_copy(update={"host": host.name, "folder": folder})
        return Engine(
            number=self.number,
            of=self.of,
            place=self.place,
            ours=self.ours,
            there=self.there,
            command=command,
            record=record,
            secrets=tuple(self.secrets),
        )


def _in_words_of(place: LoadPlace, command: LoadCommand) -> LoadCommand:
    """Return the command with what it names on this machine named as it is on the load's host."""
    if not place.words:
        return command
    longest_first = sorted(place.words.items(), key=lambda pair: len(pair[0]), reverse=True)

    def said(text: str) -> str:
        for ours, theirs in longest_first:
            text = text.replace(ours, theirs)
        return text

    return command.model_copy(
        update={
            "argv": tuple(said(word) for word in command.argv),
            "after": tuple(tuple(said(word) for word in argv) for argv in command.after),
            "environment": {name: said(value) for name, value in command.environment.items()},
            "files": {name: said(content) for name, content in command.files.items()},
        }
    )


def _record(
    generator: LoadGenerator, command: LoadCommand, order: TrialOrder, notes: Notes
) -> GeneratorRecord:
    return GeneratorRecord(
        name=generator.name,
        version=order.generator_version,
        argv=tidy_words(command.argv, order, notes),
        environment=tidy_values(command.environment, order, notes),
        cpu_affinity=(notes.placement.generator if notes.placement else None) or (),
        cpu_s=None,
        exit_code=None,
        echo_achieved_per_s=order.echo_achieved_per_s,
        headroom_ratio=None,
    )


def forget(folder: Path, secrets: Iterable[str]) -> None:
    """Remove what nobody keeps."""
    for name in secrets:
        (folder / name).unlink(missing_ok=True)


__all__ = ["OWN_SAMPLES", "Engine", "make_coordinator", "make_engines"]

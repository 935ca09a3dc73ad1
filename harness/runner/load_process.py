# SPDX-License-Identifier: Apache-2.0
"""A load generator of one trial, or one of several: started, sampled, ended for certain."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RematchError, TrialFailure
from harness.hosts.base import Command, Process
from harness.hosts.measuring import MeasuringHost, Sampling
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.parallel import merge_summaries, seed_of, shares
from harness.model import AnswerCount, GeneratorRecord, Load, LoadSummary
from harness.model.endpoint import Endpoint
from harness.runner.context import (
    Notes,
    TrialContext,
    open_folder,
    tidy_values,
    tidy_words,
    watch_process,
)

#: What a sampler on the load's own host writes, beside the load's files.
OWN_SAMPLES, OWN_MACHINE = "generator-samples.csv", "machine-load.csv"


@dataclass
class LoadProcess:
    """One generator: its share of the load, where it runs, and what became of it.

    ``local``: its folder here; ``remote``: the same on its host. ``number`` counts from 1, ``of``: how many.
    """

    number: int
    of: int
    host: MeasuringHost
    local: Path
    remote: Path
    command: LoadCommand
    record: GeneratorRecord
    running: Process | None = None
    own_sampler: Sampling | None = None
    exit_code: int | None = None

    @property
    def name(self) -> str:
        """What a failure calls it."""
        return "the load generator" if self.of == 1 else f"load generator {self.number} of {self.of}"

    @property
    def role(self) -> str:
        """What samples call it; each begins as the first one's does."""
        return "generator" if self.number == 1 else f"generator-{self.number}"

    def begin(self, sampler: Sampling, notes: Notes) -> None:
        """Start it and have it sampled: by a sampler of its own where it is not on the service's host."""
        context, host = notes.context, self.host
        self.running = running = host.spawn(
            Command(
                argv=self.command.argv,
                folder=self.remote,
                environment=self.command.environment,
                cpus=notes.generator_cpus,
                stdout=Path(self.command.stdout),
                stderr=Path(self.command.stderr),
            )
        )
        context.note(host, pid=running.pid, role=f"load generator {self.record.name}")
        if context.load_apart:
            files = (self.remote / OWN_SAMPLES, self.remote / OWN_MACHINE)
            self.own_sampler = sampler = host.sampler(*files, context.sampling_hz)
        sampler.add(self.role, watch_process(running))

    def ended(self, wait_s: float) -> bool:
        """Wait so long for its end; whether it has ended."""
        if self.exit_code is None and self.running is not None:
            self.exit_code = self.running.wait(wait_s)
            if self.exit_code is None:
                self.running.cpu_s()  # kept there: the account of a child that nobody waits for closes with it
        return self.exit_code is not None

    def end(self, notes: Notes) -> None:
        """End it for certain, and keep how it ended."""
        if self.running is None:
            return
        self.running.stop(grace_s=notes.spec.limits.generator_stop_s)
        notes.context.forget(self.host, self.running.pid)
        if self.own_sampler is not None:
            self.own_sampler.stop()
        ended = {"exit_code": self.exit_code, "cpu_s": self.running.cpu_s()}
        self.record = self.record.model_copy(update=ended)

    def close(self) -> None:
        """Bring back what it left; what a tool made for itself goes (JMeter's JVM keeps preferences)."""
        self.host.close_folder(self.local)
        for path in self.local.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)


def make_load_processes(
    load: Load, generator: LoadGenerator, endpoint: Endpoint, notes: Notes
) -> Iterator[LoadProcess]:
    """Yield the trial's generators, none started yet, each with its files in its folder.

    One has the trial's folder ``load``, several have ``load/1``, ``load/2`` and so on.

    Raises:
        UnsupportedLoad, MissingTool: the load cannot be divided, or a tool is not there.
    """
    spec, context, host = notes.spec, notes.context, notes.context.load_host
    profiles, several = shares(load.profile, load.processes), load.processes > 1
    for number, share in enumerate(profiles, start=1):
        local = spec.folder / "load" / (str(number) if several else "")
        local.mkdir(exist_ok=True)
        remote = open_folder(host, local, notes)
        seed = seed_of(spec.seed, number, len(profiles))
        asked = LoadSpec(profile=share, requests=spec.requests, endpoint=endpoint, folder=remote, seed=seed)
        command = put_files(context, generator.command(asked), local, remote)
        record = _record(generator, command, notes)
        if several:
            folder = local.relative_to(spec.folder).as_posix()
            record = record.model_copy(update={"host": host.name, "folder": folder})
        yield LoadProcess(
            number=number,
            of=len(profiles),
            host=host,
            local=local,
            remote=remote,
            command=command,
            record=record,
        )


def put_files(context: TrialContext, command: LoadCommand, local: Path, remote: Path) -> LoadCommand:
    """Put a command's files into its folder, here and on the load's host; return it in that host's words."""
    command, host = in_words_of(context.load_words, command), context.load_host
    for name, content in command.files.items():
        (local / name).write_text(content, "utf-8")
        if not host.is_local:
            host.put(local / name, remote / name)
    return command


def in_words_of(words: Mapping[str, str], command: LoadCommand) -> LoadCommand:
    """Return the command with what it names on this machine named as it is on the load's host."""
    if not words:
        return command
    longest_first = sorted(words.items(), key=lambda pair: len(pair[0]), reverse=True)

    def translated(text: str) -> str:
        for local, word in longest_first:
            text = text.replace(local, word)
        return text

    return command.model_copy(
        update={
            "argv": tuple(map(translated, command.argv)),
            "after": tuple(tuple(map(translated, argv)) for argv in command.after),
            "environment": {name: translated(value) for name, value in command.environment.items()},
            "files": {name: translated(content) for name, content in command.files.items()},
        }
    )


def _record(generator: LoadGenerator, command: LoadCommand, notes: Notes) -> GeneratorRecord:
    return GeneratorRecord(
        name=generator.name,
        version=notes.spec.generator_version,
        argv=tidy_words(command.argv, notes),
        environment=tidy_values(command.environment, notes),
        cpu_affinity=notes.generator_cpus or (),
        cpu_s=None,
        exit_code=None,
        echo_achieved_per_s=notes.spec.echo_achieved_per_s,
        headroom_ratio=None,
    )


def read_together(engines: Sequence[LoadProcess], generator: LoadGenerator) -> LoadSummary:
    """Read what every generator left; of several, keep in each record its own part.

    Raises:
        TrialFailure: one left nothing to read.
    """
    if len(engines) == 1:
        return generator.read(engines[0].local)
    for engine in engines:
        try:
            part = generator.read(engine.local)
        except TrialFailure as failure:
            raise TrialFailure(failure.outcome, f"{engine.name}: {failure.reason}") from failure
        engine.record = engine.record.model_copy(update={"load": part})
    return merge_summaries([engine.record.load for engine in engines if engine.record.load is not None])


def answered_so_far(engines: Sequence[LoadProcess], generator: LoadGenerator) -> dict[str, AnswerCount]:
    """Count what a load left that came to no end: what was answered until then was promised, too."""
    parts: list[LoadSummary] = []
    for engine in engines:
        with contextlib.suppress(RematchError):
            parts.append(generator.read(engine.local))
    return merge_summaries(parts).answers if parts else {}


def keep_records(engines: Sequence[LoadProcess], notes: Notes) -> None:
    """Write down each process, and all of them together as if they were one generator."""
    if not engines:
        return
    records = tuple(engine.record for engine in engines)
    notes.generators = records
    notes.generator = records[0] if len(records) == 1 else _together(records)


def _together(records: Sequence[GeneratorRecord]) -> GeneratorRecord:
    """CPU time is the sum; the exit code is the first that is not zero."""
    used = [record.cpu_s for record in records if record.cpu_s is not None]
    codes = [record.exit_code for record in records]
    whole = {
        "cpu_s": sum(used) if len(used) == len(records) else None,
        "exit_code": None if None in codes else next((code for code in codes if code), 0),
        "cpu_affinity": tuple(sorted({cpu for record in records for cpu in record.cpu_affinity})),
    }
    alone = {"host": None, "folder": "load", "load": None}
    return records[0].model_copy(update=whole | alone)

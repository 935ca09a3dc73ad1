# SPDX-License-Identifier: Apache-2.0
"""The load generators of one trial made ready: one as a rule, or several that divide the load, here or elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.parallel import seed_of, shares
from harness.model import GeneratorRecord, Load, LoadProfile
from harness.model.endpoint import Endpoint
from harness.runner.context import LoadSlot, Notes, TrialContext, TrialSpec, tidy_values, tidy_words
from harness.runner.load_process import LoadProcess


def make_load_processes(
    load: Load,
    generator: LoadGenerator,
    endpoint: Endpoint,
    spec: TrialSpec,
    context: TrialContext,
    notes: Notes,
) -> Iterator[LoadProcess]:
    """Yield the trial's generators, none started yet, each with its files in its folder.

    One has the trial's folder ``load``, several have ``load/1``, ``load/2`` and so on, and take turns in
    going to the load hosts.

    Raises:
        UnsupportedLoad, MissingTool: the load cannot be divided, or a tool is not there.
    """
    places = context.load_places
    profiles = shares(load.profile, load.processes * len(places))
    for number, share in enumerate(profiles, start=1):
        engine = _Making(
            number=number,
            of=len(profiles),
            place=places[(number - 1) % len(places)],
            name=str(number) if len(profiles) > 1 else "",
        )
        asked = engine.asked(share, endpoint, spec, notes)
        yield engine.made(generator.command(asked), generator, spec, notes)


@dataclass(kw_only=True)
class _Making:
    """One engine on its way: first its folder, which its command needs, then its files.

    ``name``: of its folder below ``load``; empty: that itself.
    """

    number: int
    of: int
    place: LoadSlot
    name: str
    ours: Path = Path()
    there: Path = Path()

    def asked(self, share: LoadProfile, endpoint: Endpoint, spec: TrialSpec, notes: Notes) -> LoadSpec:
        """Make its folder, and say what is asked of it there."""
        self.ours = spec.folder / "load" / self.name
        self.ours.mkdir(exist_ok=True)
        self.there = self.place.host.open_folder(self.ours)
        notes.folders_there[self.there] = self.ours
        return LoadSpec(
            profile=share,
            requests=spec.requests,
            endpoint=endpoint,
            folder=self.there,
            seed=seed_of(spec.seed, self.number, self.of),
        )

    def made(
        self, command: LoadCommand, generator: LoadGenerator, spec: TrialSpec, notes: Notes
    ) -> LoadProcess:
        """Put its files into its folder."""
        host = self.place.host
        command = in_words_of(self.place, command)
        for name, content in command.files.items():
            (self.ours / name).write_text(content, "utf-8")
            if not host.here:
                host.put(self.ours / name, self.there / name)
        record = _record(generator, command, spec, notes)
        if self.of > 1:
            folder = self.ours.relative_to(spec.folder).as_posix()
            record = record.model_copy(update={"host": host.name, "folder": folder})
        return LoadProcess(
            number=self.number,
            of=self.of,
            place=self.place,
            ours=self.ours,
            there=self.there,
            command=command,
            record=record,
        )


def in_words_of(place: LoadSlot, command: LoadCommand) -> LoadCommand:
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


def _record(generator: LoadGenerator, command: LoadCommand, spec: TrialSpec, notes: Notes) -> GeneratorRecord:
    return GeneratorRecord(
        name=generator.name,
        version=spec.generator_version,
        argv=tidy_words(command.argv, spec, notes),
        environment=tidy_values(command.environment, spec, notes),
        cpu_affinity=(notes.placement.generator if notes.placement else None) or (),
        cpu_s=None,
        exit_code=None,
        echo_achieved_per_s=spec.echo_achieved_per_s,
        headroom_ratio=None,
    )


__all__ = ["in_words_of", "make_load_processes"]

# SPDX-License-Identifier: Apache-2.0
"""``rematch measure``: run or resume a session; ``--dry-run`` says what would happen."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from harness.cli.options import (
    AsJson,
    Blocks,
    Experiment,
    Host,
    Launcher,
    Profile,
    Seed,
    complain,
    fields_of,
    say,
)
from harness.definitions import usual_launcher
from harness.errors import InputError, RematchError
from harness.measure import session
from harness.measure.runner.speed_gate import SpeedGate
from harness.measure.session import Assembly, Interrupted, Prepared
from harness.measure.session.dry_run import commands_of, session_s
from harness.measure.session.memory import memory_asked
from harness.measure.session.progress import in_words
from harness.model.formatting import counted
from harness.project import find_root
from harness.store import SessionFolder, Store


def measure_command(
    experiment: Experiment,
    profile: Profile = "quick",
    host: Host = "local",
    load_host: Annotated[
        str | None,
        typer.Option(help="host of the load generator; default: the services' host"),
    ] = None,
    database_host: Annotated[
        str | None,
        typer.Option(help="host of the database and the upstream API; default: the services' host"),
    ] = None,
    launcher: Launcher = None,
    seed: Seed = 1,
    blocks: Blocks = None,
    wait_for_speed: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="seconds that each trial waits at most while another guest slows the CPUs; a warm load that was "
            "slowed is offered again",
        ),
    ] = 0.0,
    new: Annotated[bool, typer.Option("--new", help="begin a new session, with the next free seed")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="print the plan, every command and the time; start nothing")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a session, or resume it with the same command.

    Finished trials are kept (after Ctrl-C, kill -9 or a full disk) and never repeated.

    \b
    Examples:
        rematch measure strings-rounds --profile quick
        rematch measure strings-rounds --profile full --dry-run
        rematch measure strings-rounds --profile quick --seed 2
        rematch measure strings-rounds --profile quick --blocks 10
    """
    root = find_root()
    launcher = session.launcher_name(launcher or usual_launcher(root, experiment))
    label = host if load_host in (None, host) else f"{host}-from-{load_host}"
    if database_host not in (None, host):
        label = f"{label}-with-{database_host}"
    assembly = session.assemble(
        root, host=host, load_host=load_host, database_host=database_host, launcher=launcher
    )
    with contextlib.closing(assembly):
        prepared = session.prepare(
            assembly, experiment, profile=profile, host=label, seed=seed, launcher=launcher, anywhere=dry_run
        )
        if wait_for_speed:
            assembly = dataclasses.replace(assembly, speed_gate=SpeedGate(wait_s=wait_for_speed))
        if blocks is not None:
            prepared = session.with_blocks(prepared, blocks)
        if new:
            prepared = session.with_free_seed(prepared, Store(root))
        asked = {
            "profile": profile, "host": host, "load-host": load_host, "database-host": database_host,
            "seed": prepared.plan.seed, "launcher": None if launcher == "process" else launcher,
            "wait-for-speed": f"{wait_for_speed:g}" if wait_for_speed else None, "blocks": prepared.blocks_asked,
        }  # fmt: skip
        options = (f"--{name} {value}" for name, value in asked.items() if value is not None)
        again = " ".join(("rematch measure", experiment, *options))
        if prepared.refused is not None:
            complain(f"cannot be measured here: {prepared.refused}")
        for gone in prepared.unavailable:
            complain(f"not measured: {gone.variant}: {gone.reason}")
        planned = {trial.configuration.variant_name for trial in prepared.plan.trials}
        for variant, remark in session.remarks(assembly, prepared.experiment.variants).items():
            if variant in planned:
                complain(f"{variant}: {remark}")
        if dry_run:
            _print_plan(assembly, prepared, as_json=as_json)
            return
        with stopping(f"finished trials are kept; resume with: {again}"):
            progress = session.Silent() if as_json else session.suitable_progress()
            folder = session.measure(assembly, prepared, progress=progress)
        _summarise(folder, as_json=as_json)


@contextlib.contextmanager
def stopping(words: str) -> Iterator[None]:
    """End the command where a signal stops its work, and say ``words``."""
    try:
        yield
    except Interrupted as stop:
        complain(f"rematch: stopped by {stop}; {words}")
        raise typer.Exit(stop.exit_code) from None


def measure_anew(
    assembly: Assembly, experiment: str, profile: str, *, blocks: int | None = None, silent: bool = False
) -> SessionFolder:
    """Measure a new session on this machine.

    Raises:
        InputError: a variant cannot run here.
    """
    prepared = session.prepare(assembly, experiment, profile=profile, host="local", seed=1)
    for gone in prepared.unavailable:
        raise InputError(f"cannot run here: {gone.reason}", place=gone.variant)
    if blocks is not None:
        prepared = session.with_blocks(prepared, blocks)
    progress = session.Silent() if silent else session.suitable_progress()
    return session.measure(assembly, prepared, progress=progress, new=True)


def _summarise(folder: SessionFolder, *, as_json: bool) -> None:
    """Say what came of the session: for programs outcomes and flags, for a person who is ahead."""
    if as_json:
        records = list(folder.records())
        outcomes = Counter(record.outcome.value for record in records)
        flags = Counter(flag for record in records for flag in record.flags)
        text = {"session": folder.key, "complete": folder.complete, "outcomes": outcomes, "flags": flags}
        print(json.dumps(text, indent=1))
        return
    from harness.cli.results import print_conclusion, read_results  # pandas, which no dry run needs

    try:
        print_conclusion(read_results(find_root(), folder))
    except RematchError as problem:  # what was measured is kept, whatever keeps it from being analysed now
        complain(f"rematch: {folder.key} is measured, but cannot be analysed: {problem}")
    print(f"All metrics and verdicts: rematch results {folder.key.replace('/', ' --session ')}")


def _print_plan(assembly: Assembly, prepared: Prepared, *, as_json: bool) -> None:
    total_s = session_s(assembly, prepared)
    commands = commands_of(assembly, prepared)
    plan, asked = prepared.plan, memory_asked(prepared)
    profile = prepared.experiment.profiles[plan.profile]
    if as_json:
        text = {
            "session": f"{plan.experiment}/{prepared.session_id}",
            "expected_s": total_s,
            "blocks": plan.n_blocks,
            "blocks_of_profile": profile.blocks,
            "large_host": profile.large_host,
            "memory_to_be_measured": asked,
            "refused": prepared.refused,
            "unavailable": {gone.variant: gone.reason for gone in prepared.unavailable},
            "trials": [
                fields_of(trial, "trial_id", "block", "duplicate")
                | {"configuration": trial.configuration.key}
                for trial in plan.trials
            ],
            "commands": {key: list(argv) for key, argv in commands.items()},
        }
        print(json.dumps(text, indent=1))
        return
    say(f"{plan.experiment}/{prepared.session_id}: {prepared.experiment.question}")
    print("\ncommands:")
    _print_commands(commands)
    print()
    if profile.scaled_loads:
        say("Rates and users are set by calibration; values above assume a capacity of 100 passes/s.")
    if asked:
        say("Heaps and limits that are multiples or another variant's memory are measured first:")
        for name, what in asked.items():
            say(f"{name}: {what}", indent="  ", hang="    ")
    instead = "" if prepared.blocks_asked is None else f" (the profile has {profile.blocks})"
    where = "on a large host, for which it is meant" if profile.large_host else "on two cores"
    say(
        f"{counted(len(plan.trials), 'trial')} in {counted(plan.n_blocks, 'block')}{instead}, shuffled within each "
        f"block (their order: --dry-run --json); about {in_words(total_s)} {where}."
    )


def _print_commands(commands: Mapping[str, tuple[str, ...]]) -> None:
    """Print every command once, in a line of its own, with all that it is for."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for key, argv in commands.items():
        alike.setdefault(argv, []).append(key)
    for argv, keys in alike.items():
        kind = keys[0].split(" ", 1)[0]
        names = ", ".join(key.removeprefix(f"{kind} ") for key in keys)
        say(f"{kind} {names}:", indent="  ", hang="    ")
        if not argv:
            print("    no command: nothing is started")
        elif argv[0] == "#":  # it cannot be told, and why
            say(f"# {argv[1]}", indent="    ", hang="    # ")
        else:
            print(f"    {shlex.join(argv)}")

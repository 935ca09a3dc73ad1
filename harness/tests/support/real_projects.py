# SPDX-License-Identifier: Apache-2.0
"""A project with the real services of one workload, their real database and upstream API, and one experiment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from harness.measure.runner.start_up import wait_first_response
from harness.measure.session import assemble, measure, prepare
from harness.model import Expectation, Implementation, Request, Variant
from harness.places.launchers.base import LaunchSpec
from harness.places.launchers.process import ProcessInstance, ProcessLauncher
from harness.store import SessionFolder
from harness.tests.support.available import patient
from harness.tests.support.sessions import LIMITS, REPOSITORY, without_duplicates, write_experiment
from harness.tests.support.tools_here import QUICK_JVM as QUICK_JVM_FLAG

NAME = "real"
#: A service of a test answers too few requests for what C2 compiles, which is half of what its start takes.
QUICK_JVM = (QUICK_JVM_FLAG,)
POOL = 'face = "matched", connections = "pool", pool_size = 8'


def load(generator: str, profile: str) -> str:
    """A closed load as TOML; ``profile`` is the inside of its table."""
    return f'generator = "{generator}"\nprofile = {{ model = "closed", {profile} }}'


def project_of(
    root: Path,
    workload: str,
    variants: Mapping[str, str],
    *,
    mix: str,
    loads: Mapping[str, str],
    backing: str = "",
    factors: str = "",
    blocks: int = 1,
    echo: bool = True,
) -> Path:
    """Lay out a project with the real services of a workload; what is built for one is kept for the next."""
    for folder in {workload, "echo"} if echo else {workload}:
        shutil.copytree(
            REPOSITORY / "services" / folder,
            root / "services" / folder,
            ignore=shutil.ignore_patterns("target", "node_modules", *(() if echo else ("go-raw",))),
        )
    shutil.copytree(
        REPOSITORY / "setup/jmeter", root / "setup/jmeter"
    )  # what JMeter's files are held against
    (root / ".cache").mkdir()
    for name in (".cache/builds", ".tools"):
        (REPOSITORY / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(REPOSITORY / name, target_is_directory=True)
    quick = f"\nruntime = {{ jvm_flags = {json.dumps(QUICK_JVM)} }}"
    rows = {
        name: f'implementation = "{name}"\nsettings = {{ {told} }}' + (quick if name.startswith("java-") else "")
        for name, told in variants.items()
    }  # fmt: skip
    more = f'kind = "load"\nmix = "{mix}"\n{backing}\n{factors}'
    write_experiment(root, NAME, workload, rows, loads, more=more, blocks=blocks)
    return root


def measured(root: Path, *, duplicates: bool = True) -> SessionFolder:
    """Measure all of it, on this machine; ``duplicates``: with the second trial of the reference in a block."""
    assembly = assemble(root)
    prepared = prepare(assembly, NAME, profile="smoke", host="local", seed=1)
    assert not prepared.unavailable, prepared.unavailable
    if not duplicates:
        prepared = without_duplicates(prepared)
    return measure(assembly, prepared, limits=replace(LIMITS, ready_s=60.0))


HEALTH = Request(mix="health", name="health", method="GET", path="/health", expect=Expectation(status=200))


@contextmanager
def up(
    launcher: ProcessLauncher,
    implementation: Implementation,
    variant: Variant,
    folder: Path,
    **environment: str,
) -> Iterator[ProcessInstance]:
    """Build and launch a real service without a session; yield it when it answers."""
    build = launcher.build(implementation, variant)
    instance = launcher.launch(LaunchSpec(
        implementation=implementation, variant=variant, build=build, folder=folder, environment=environment,
    ))  # fmt: skip
    try:
        wait_first_response(instance, HEALTH, patient(60))
        yield instance
    finally:
        instance.stop()

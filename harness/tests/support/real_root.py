# SPDX-License-Identifier: Apache-2.0
"""The project itself as a root for tests: its own services, experiments, tools and builds, and data elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.hosts.ssh.settings import HostSettings
from harness.tests.support.synthetic import ROOT

#: What is made of the smallest profile of strings-rounds: one block, a second of load by what starts at once.
LESS = {
    "blocks = 2": "blocks = 1",
    'generator = "jmeter"': 'generator = "wrk"',
    "users = 10, loops = 50, ramp_up_s = 0": "users = 10, duration_s = 1",
}


def make_real_root(root: Path, workloads: tuple[str, ...], hosts: Mapping[str, HostSettings]) -> Path:
    """Lay out a root that sees this project's services of these workloads and shares its builds.

    ``hosts`` are those of its hosts.toml. Without the workload echo no generator is tried before the trials.
    """
    (root / "services").mkdir(parents=True)
    (root / ".cache").mkdir()
    builds = ROOT / ".cache" / "builds"
    builds.mkdir(parents=True, exist_ok=True)
    (root / ".cache" / "builds").symlink_to(builds)
    for name in ("harness", "setup", ".tools", *(f"services/{workload}" for workload in workloads)):
        if (ROOT / name).exists():
            (root / name).symlink_to(ROOT / name)
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy2(ROOT / name, root / name)
    lines = []
    for name, told in hosts.items():
        lines.append(f"[hosts.{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in told.model_dump(exclude_none=True).items()]
    (root / "hosts.toml").write_text("\n".join(lines) + "\n")
    return root


def cut_down(experiment: str, folder: Path) -> Path:
    """Write an experiment of the project with its smallest profile made smaller still; return the file."""
    text = (ROOT / "harness" / "experiments" / f"{experiment}.toml").read_text()
    before, smoke, after = text.partition("[profiles.smoke]")
    smallest, quick, rest = after.partition("[profiles.quick]")
    for said, instead in LESS.items():
        assert smallest.count(said) == 1, f"{experiment}: the profile smoke has no {said}"
        smallest = smallest.replace(said, instead)
    file = folder / f"{experiment}.toml"
    file.write_text(before + smoke + smallest + quick + rest)
    return file

# SPDX-License-Identifier: Apache-2.0
"""The files of a duel: both versions as services of the recorded contract, and the experiment, in a folder that the
caller removes."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.adopt import Workspace
from harness.adopt.workspace import experiment_text
from harness.duel.sides import Side
from harness.errors import InputError
from harness.model import Implementation, RuntimeSettings, Variant
from harness.model.load_tools import ALWAYS_HERE

SUFFIX = "-duel"


@dataclass(frozen=True, kw_only=True)
class Duel:
    """``name``: of the experiment; ``sides``: the reference first."""

    name: str
    folder: Path
    workload: str
    sides: tuple[Side, Side]

    @property
    def experiment(self) -> Path:
        return self.folder / f"{self.name}.toml"

    @property
    def contract(self) -> Path:
        return self.folder / "services" / self.workload / "contract"

    def implementation(self, side: Side, root: Path) -> Implementation:
        """Return the service that stands for a side."""
        return Workspace(folder=self.folder, name=self.workload, service=side.label).implementation(root)

    def variant(self, side: Side) -> Variant:
        """Return the variant that a side is."""
        return Variant(implementation=side.label, runtime=RuntimeSettings(cpus=1, java=side.java))


def source_of(place: Workspace) -> Path:
    """Return the sources of an adopted service.

    Raises:
        InputError: its ``service.toml`` names none.
    """
    source = _described(place).get("source")
    folder = place.service_toml.parent
    return folder.resolve() if source is None else (folder / str(source)).resolve()


def set_up(place: Workspace, both: tuple[Side, Side], folder: Path, generator: str | None = None) -> Duel:
    """Write the files of a duel.

    Args:
        place: the adopted service; its start command and its contract are those of both sides.
        both: the sides, the reference first.
        folder: an empty one.
        generator: of the load; default: that of the adopted experiment's profile ``quick``.

    Raises:
        InputError: what was adopted is not there, or a JDK is named for a service without one.
    """
    described = _described(place)
    duel = Duel(name=f"{place.name}{SUFFIX}", folder=folder, workload=place.name, sides=both)
    if described.get("runtime") != "jvm" and (named := [side.what for side in both if side.java is not None]):
        raise InputError(
            "a JDK runs no such service", file=place.service_toml, place="runtime", found=described.get("runtime"),
            allowed=f'"jvm", for {named[0]}',
        )  # fmt: skip
    for side in both:
        words = {**described, "name": side.label, "workload": place.name, "source": str(side.source)}
        file = folder / "services" / place.name / side.label / "service.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_as_toml(words), "utf-8")
    if not (place.contract / "requests.jsonl").is_file():
        raise InputError("no contract", file=place.contract, allowed="one that rematch adopt recorded")
    shutil.copytree(place.contract, duel.contract)
    text = experiment_text(
        duel.name,
        both[0].label,
        generator or _generator(place),
        title=f"{both[0].what} and {both[1].what}",
        variants=[
            (side.label, side.label, "" if side.java is None else f", java = {side.java}") for side in both
        ],
        mix=place.name,
    )
    duel.experiment.write_text(text, "utf-8")
    return duel


def _generator(place: Workspace) -> str:
    try:
        data = tomllib.loads(place.experiment.read_text("utf-8"))
        return str(data["profiles"]["quick"]["loads"]["users"]["generator"])
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError):
        return ALWAYS_HERE


def _described(place: Workspace) -> dict[str, Any]:
    try:
        return tomllib.loads(place.service_toml.read_text("utf-8"))
    except OSError:
        raise InputError(
            "no adopted service here",
            file=place.service_toml,
            allowed="the experiment that rematch adopt wrote (--as)",
        ) from None
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"broken TOML: {problem}", file=place.service_toml) from None


def _as_toml(values: dict[str, Any]) -> str:
    """Return plain values and one level of tables as TOML; JSON's strings and lists are TOML's as well."""
    plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]
    for name, table in values.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]"]
            lines += [
                f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()
            ]
    return "\n".join(lines) + "\n"

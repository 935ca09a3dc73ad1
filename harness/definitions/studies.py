# SPDX-License-Identifier: Apache-2.0
"""An experiment by its name or file, with everything it refers to."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.definitions.checks import check_levels, check_memory, check_variants, with_backing
from harness.definitions.extending import Definition, read_definition
from harness.definitions.services import SERVICES, contract_folder, load_implementations, load_requests
from harness.definitions.strict_files import short, to_model, unknown
from harness.errors import InputError
from harness.model import BackingSettings, Experiment, Frozen, Implementation, ProfileName, Request
from harness.project import EXPERIMENTS, experiment_paths


class Study(Frozen):
    """An experiment with everything it names: what a session needs to know before it starts anything.

    ``files``: of its definition, bases first.
    """

    experiment: Experiment
    implementations: dict[str, Implementation]
    requests: dict[str, tuple[Request, ...]]
    definition_sha256: str
    files: tuple[Path, ...] = ()
    beside: Path | None = None

    def contract(self, root: Path) -> Path:
        """Return the contract's folder, of a project at ``root``. ``beside``: the folder of the experiment's file."""
        return contract_folder(root, self.experiment.workload, self.beside)

    def profile_name(self, name: str) -> ProfileName:
        """Return ``name`` as one of the experiment's profiles.

        Raises:
            InputError: the experiment has no such profile.
        """
        for profile in self.experiment.profiles:
            if profile == name:
                return profile
        raise unknown("profile", name, self.experiment.profiles, file=self.experiment.name)


def experiment_files(root: Path) -> dict[str, Path]:
    """Return name -> file of every experiment that comes with the project."""
    return {name: short(path) for name, path in experiment_paths(root).items()}


def load_study(root: Path, name: str) -> Study:
    """Load an experiment by its name, or by the path of its TOML file, and check all it refers to.

    Raises:
        InputError: unknown name, broken TOML, unknown or ill-typed key, or a reference to nothing.
    """
    path = _experiment_path(root, name)
    definition = read_definition(root, path)
    experiment = _experiment(definition)
    beside = path.parent.resolve()
    known = {folder.parent.name for base in (root, beside) for folder in (base / SERVICES).glob("*/contract")}
    if experiment.workload not in known:  # a name, never a path
        raise unknown("workload", experiment.workload, sorted(known), file=path, place="workload")
    implementations = load_implementations(root, experiment.workload, beside)
    requests = load_requests(root, experiment.workload, beside)
    check_variants(experiment, implementations, path)
    check_levels(experiment, requests, path)
    check_memory(experiment, implementations, path)
    experiment = with_backing(
        contract_folder(root, experiment.workload, beside), experiment, implementations, path
    )
    named = {variant.implementation for variant in experiment.variants.values()}
    return Study(
        experiment=experiment,
        implementations={name: implementations[name] for name in sorted(named)},
        requests=requests,
        definition_sha256=_definition_sha256(experiment),
        files=tuple(map(short, definition.files)),
        beside=beside,
    )


def usual_launcher(root: Path, name: str) -> str:
    """Return how an experiment's services are started where nobody says otherwise.

    A definition that is gone or cannot be read says nothing here: whoever loads it says what is wrong with it.
    """
    try:
        content = read_definition(root, _experiment_path(root, name)).content()
    except InputError:
        return "process"
    return str(content.get("launcher") or "process")


@lru_cache(maxsize=128)
def _experiment(definition: Definition) -> Experiment:
    """Return what an experiment's files say; the same texts are read once in a process, for many ask for them again."""
    data, path = definition.content(), short(definition.path)
    if "name" in data and data["name"] != path.stem:
        raise InputError(
            "must be the file's name", file=path, place="name", found=data["name"], allowed=repr(path.stem)
        )
    try:
        return to_model(Experiment, data, path)
    except InputError as error:
        raise InputError(
            error.problem, file=definition.file_of(error.place), place=error.place, found=error.found,
            allowed=error.allowed,
        ) from None  # fmt: skip


#: Part of a definition -> field -> what it is where it is not used: left out, so that a hash stays what it was before
#: there was such a field.
_UNUSED: dict[str, dict[str, Any]] = {
    "experiment": {
        "backing": None, "warm_up_users": 1, "same_process": None, "launcher": None, "same_process_order": "file",
        "design": "alternating", "exchange_s": Experiment.model_fields["exchange_s"].default,
    },
    "backing": {"authentication": BackingSettings().authentication, "beside": BackingSettings().beside},
    "runtime": {
        **dict.fromkeys(("form", "memory_limit", "pin", "goexperiment", "go", "java", "goamd64", "cpu_limit")),
        **dict.fromkeys(("cpu_request", "cpu_boost", "replicas", "access", "autoscale_cpu", "scale_from")),
        **dict.fromkeys(("flight_recording", "lock_recording", "pgo"), False),
    },
    "load": {"processes": 1, "coordination": "independent", "rows": "kept", "of": "session"},
    "load profile": {"busy": "tool", "parts": 1, "pause_s": 0.0, "stages": [], "renew_s": None},
    "profile": {
        "scaled_loads": {}, "calibration": None, "warm_up": None, "search": None, "settle_s": 0.0, "design": None,
        "system_calls": False,
    },
    "warm_up": {"repeats": 0},
    "calibration": {"of": "reference", "among": [], "capacity": "saturation", "goals": None},
    "level": {"backing": {}, "warm_up_mix": None, "warm_up_connections": None, "warm_up_windows": True},
}  # fmt: skip


def _definition_sha256(experiment: Experiment) -> str:
    """Hash what was defined, without what is not used of it."""
    data = experiment.model_dump(mode="json", exclude={"compare"})  # what is compared changes no trial
    profiles = list(data["profiles"].values())
    loads = [load for item in profiles for load in (*item["loads"].values(), *item["scaled_loads"].values())]
    parts: dict[str, list[Any]] = {
        "experiment": [data],
        "backing": [data["backing"]],
        "runtime": [variant["runtime"] for variant in data["variants"].values()],
        "load": loads,
        "load profile": [load["profile"] for load in loads],
        "warm_up": [item["warm_up"] for item in profiles],
        "calibration": [item["calibration"] for item in profiles],
        "profile": profiles,
        "level": [level for levels in data["factors"].values() for level in levels.values()],
    }
    for part, tables in parts.items():
        for table in filter(None, tables):
            for name, unused in _UNUSED[part].items():
                if name in table and table[name] == unused:
                    del table[name]
    return hashlib.sha256(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def _experiment_path(root: Path, name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise InputError("no such file", file=path, allowed="an experiment's TOML file, or its name")
        return path
    files = experiment_files(root)
    if name not in files:
        raise unknown("experiment", name, files, file=EXPERIMENTS)
    return files[name]

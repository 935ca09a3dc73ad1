# SPDX-License-Identifier: Apache-2.0
"""An experiment by its name or file, with everything it refers to."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.definitions.checks import check_duets, check_levels, check_memory, check_variants, with_backing
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
    check_duets(experiment, implementations, path)
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


def _definition_sha256(experiment: Experiment) -> str:
    """Hash what was defined. What an experiment does not use is left out, so that its hash stays what it
    was before there were backing services and calibrations.
    """
    data = experiment.model_dump(mode="json", exclude={"compare"})  # what is compared changes no trial
    _drop_if(None, data, "backing")
    _drop_if(1, data, "warm_up_users")
    _drop_if(None, data, "same_process", "launcher")
    _drop_if("file", data, "same_process_order")
    _drop_if("alternating", data, "design")
    _drop_if(Experiment.model_fields["exchange_s"].default, data, "exchange_s")
    if "backing" in data:
        _drop_if(BackingSettings().authentication, data["backing"], "authentication")
    for variant in data["variants"].values():
        _drop_if(
            None, variant["runtime"], "form", "memory_limit", "pin", "goexperiment", "go", "java", "goamd64"
        )
        _drop_if(None, variant["runtime"], "cpu_limit", "cpu_request", "cpu_boost", "replicas", "access")
        _drop_if(None, variant["runtime"], "autoscale_cpu", "scale_from")
        _drop_if(False, variant["runtime"], "flight_recording", "lock_recording", "pgo")
    for profile in data["profiles"].values():
        for load in (*profile["loads"].values(), *profile["scaled_loads"].values()):
            _drop_if(1, load, "processes")
            _drop_if("tool", load["profile"], "busy")
            _drop_if(1, load["profile"], "parts")
            _drop_if(0.0, load["profile"], "pause_s")
            _drop_if([], load["profile"], "stages")
            _drop_if(None, load["profile"], "renew_s")
            _drop_if("independent", load, "coordination")
            _drop_if("kept", load, "rows")
            _drop_if("session", load, "of")
        _drop_if({}, profile, "scaled_loads")
        _drop_if(None, profile, "calibration", "warm_up", "search")
        _drop_if(0, profile.get("warm_up", {}), "repeats")
        if "calibration" in profile:
            _drop_if("reference", profile["calibration"], "of")
            _drop_if([], profile["calibration"], "among")
            _drop_if("saturation", profile["calibration"], "capacity")
            _drop_if(None, profile["calibration"], "goals")
        _drop_if(0.0, profile, "settle_s")
        _drop_if(False, profile, "system_calls")
        _drop_if(None, profile, "design")
    for levels in data["factors"].values():
        for level in levels.values():
            _drop_if({}, level, "backing")
            _drop_if(None, level, "warm_up_mix", "warm_up_connections")
            _drop_if(True, level, "warm_up_windows")
    return hashlib.sha256(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def _drop_if(unused: object, data: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in data and data[name] == unused:
            del data[name]


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

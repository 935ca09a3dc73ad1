# SPDX-License-Identifier: Apache-2.0
"""From TOML to the model, strictly: experiments, implementations, and the requests of a workload.

Whatever is wrong with a file is one line: the file, the place in it, what was found, what is allowed.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import InputError
from harness.model import (
    BackingSettings,
    Experiment,
    Frozen,
    Implementation,
    ProfileName,
    Request,
    RuntimeSettings,
)
from harness.schema_errors import describe

M = TypeVar("M", bound=Frozen)
EXPERIMENTS = Path("harness") / "experiments"
SERVICES = Path("services")
#: Settings that mean nothing to a Go program; naming one in a Go variant is a mistake worth a word.
_JVM_ONLY = ("gc", "heap_max", "heap_min", "aot_cache", "form", "nmt", "jvm_flags")
_GO_ONLY = ("gogc", "gomemlimit")


class Study(Frozen):
    """An experiment with everything it names: what a session needs to know before it starts anything."""

    experiment: Experiment
    implementations: dict[str, Implementation]
    requests: dict[str, tuple[Request, ...]]
    definition_sha256: str

    def profile_name(self, name: str) -> ProfileName:
        """Return ``name`` as one of the experiment's profiles.

        Raises:
            InputError: the experiment has no such profile.
        """
        for profile in self.experiment.profiles:
            if profile == name:
                return profile
        raise _unknown("profile", name, self.experiment.profiles, file=self.experiment.name)


def experiment_files(root: Path) -> dict[str, Path]:
    """Return name -> file of every experiment that comes with the project."""
    return {path.stem: _short(path) for path in sorted((root / EXPERIMENTS).glob("*.toml"))}


def load_study(root: Path, name: str) -> Study:
    """Load an experiment by its name, or by the path of its TOML file, and check all it refers to.

    Raises:
        InputError: unknown name, broken TOML, unknown or ill-typed key, or a reference to nothing.
    """
    path = _experiment_path(root, name)
    data = _read_toml(path)
    if "name" in data and data["name"] != path.stem:
        raise InputError(
            "must be the file's name", file=path, place="name", found=data["name"], allowed=repr(path.stem)
        )
    experiment = _to_model(Experiment, data, path)
    implementations = load_implementations(root, experiment.workload)
    requests = load_requests(root, experiment.workload)
    _check_variants(experiment, implementations, path)
    _check_levels(experiment, requests, path)
    experiment = _with_backing(root, experiment, implementations, path)
    named = {variant.implementation for variant in experiment.variants.values()}
    return Study(
        experiment=experiment,
        implementations={name: implementations[name] for name in sorted(named)},
        requests=requests,
        definition_sha256=_definition_sha256(experiment),
    )


def contract_folder(root: Path, workload: str) -> Path:
    """Return where a workload's contract lies."""
    return root / SERVICES / workload / "contract"


def _definition_sha256(experiment: Experiment) -> str:
    """Hash what was defined. What an experiment does not use is left out, so that its hash stays what it
    was before there were backing services and calibrations.
    """
    data = experiment.model_dump(mode="json")
    _drop_if(None, data, "backing")
    if "backing" in data:
        _drop_if(BackingSettings().authentication, data["backing"], "authentication")
    for variant in data["variants"].values():
        _drop_if(None, variant["runtime"], "form", "memory_limit", "pin")
    for profile in data["profiles"].values():
        for load in (*profile["loads"].values(), *profile["scaled_loads"].values()):
            _drop_if(1, load, "processes")
            _drop_if("independent", load, "coordination")
        _drop_if({}, profile, "scaled_loads")
        _drop_if(None, profile, "calibration")
        _drop_if(0.0, profile, "settle_s")
    for levels in data["factors"].values():
        for level in levels.values():
            _drop_if({}, level, "backing")
    return hashlib.sha256(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def _drop_if(unused: object, data: dict[str, Any], *names: str) -> None:
    for name in names:
        if data[name] == unused:
            del data[name]


def load_implementations(root: Path, workload: str) -> dict[str, Implementation]:
    """Return name -> implementation for every ``services/<workload>/*/service.toml``.

    Raises:
        InputError: a service.toml is wrong, or says another name or workload than its folder.
    """
    found: dict[str, Implementation] = {}
    for path in map(_short, sorted((root / SERVICES / workload).glob("*/service.toml"))):
        implementation = _to_model(Implementation, _read_toml(path), path)
        for place, said, meant in (
            ("name", implementation.name, path.parent.name),
            ("workload", implementation.workload, workload),
        ):
            if said != meant:
                raise InputError(
                    "must be the folder's name", file=path, place=place, found=said, allowed=repr(meant)
                )
        found[implementation.name] = implementation
    return found


def service_folder(root: Path, implementation: Implementation) -> Path:
    """Return the source folder of an implementation."""
    return root / SERVICES / implementation.workload / implementation.name


def load_requests(root: Path, workload: str) -> dict[str, tuple[Request, ...]]:
    """Return mix -> its requests, from the workload's ``contract/requests.jsonl``.

    Raises:
        InputError: missing, or a line of it is not a request.
    """
    path = _short(root / SERVICES / workload / "contract" / "requests.jsonl")
    if not path.is_file():
        known = sorted(folder.name for folder in (root / SERVICES).glob("*") if folder.is_dir())
        raise _unknown("workload", workload, known, file=path)
    mixes: dict[str, tuple[Request, ...]] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if line.strip():
            request = _request(line, path, number)
            mixes[request.mix] = (*mixes.get(request.mix, ()), request)
    return mixes


def _request(line: str, path: Path, number: int) -> Request:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise InputError(f"not JSON ({error})", file=path, place=f"line {number}") from None
    return _to_model(Request, data, path, at=f"line {number}: ")


def _experiment_path(root: Path, name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise InputError("no such file", file=path, allowed="an experiment's TOML file, or its name")
        return path
    files = experiment_files(root)
    if name not in files:
        raise _unknown("experiment", name, files, file=EXPERIMENTS)
    return files[name]


def _short(path: Path) -> Path:
    """A path as a person at this prompt would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:  # its message ends with "(at line 3, column 7)"
        message, _, where = str(error).rpartition(" (at ")
        raise InputError(
            f"broken TOML: {message or error}", file=path, place=where.rstrip(")") or None
        ) from None
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", file=path, place=f"byte {error.start}") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None


def _to_model(model: type[M], data: Any, path: Path, *, at: str = "") -> M:
    try:
        # By way of JSON: TOML knows no tuples, and strict types take a list for one only from JSON.
        return model.model_validate_json(json.dumps(data))
    except TypeError:
        raise InputError("dates and times are not used here", file=path) from None
    except ValidationError as error:
        raise describe(error, model, data, file=path, at=at) from None


def _check_variants(experiment: Experiment, known: Mapping[str, Implementation], path: Path) -> None:
    for name, variant in experiment.variants.items():
        place = f"variants.{name}"
        if variant.implementation not in known:
            raise _unknown(
                "implementation", variant.implementation, known, file=path, place=f"{place}.implementation"
            )
        implementation = known[variant.implementation]
        _check_settings(variant.settings, implementation, path, f"{place}.settings")
        useless = {"go": _JVM_ONLY, "jvm": _GO_ONLY}.get(implementation.runtime, ())
        for key in sorted(variant.runtime.model_fields_set & set(useless)):
            raise InputError(
                f"means nothing to the runtime {implementation.runtime!r}",
                file=path,
                place=f"{place}.runtime.{key}",
            )
    for factor, levels in experiment.factors.items():
        for level_name, level in levels.items():
            for variant in experiment.variants.values():
                place = f"factors.{factor}.{level_name}.settings"
                _check_settings(level.settings, known[variant.implementation], path, place)


def _check_settings(settings: Iterable[str], implementation: Implementation, path: Path, place: str) -> None:
    for key in settings:
        if key not in implementation.settings:
            raise _unknown(
                f"setting of {implementation.name}", key, implementation.settings, file=path, place=place
            )


def _check_levels(experiment: Experiment, mixes: Mapping[str, object], path: Path) -> None:
    if experiment.mix not in mixes:
        raise _unknown("mix", experiment.mix, mixes, file=path, place="mix")
    for factor, levels in experiment.factors.items():
        for name, level in levels.items():
            place = f"factors.{factor}.{name}"
            if level.mix is not None and level.mix not in mixes:
                raise _unknown("mix", level.mix, mixes, file=path, place=f"{place}.mix")
            _to_model(RuntimeSettings, level.runtime, path, at=f"{place}.runtime.")
            _to_model(BackingSettings, level.backing, path, at=f"{place}.backing.")


def _with_backing(
    root: Path, experiment: Experiment, known: Mapping[str, Implementation], path: Path
) -> Experiment:
    """Return the experiment with the backing settings it ends up with, checked against the contract's files."""
    implementations = [known[variant.implementation] for variant in experiment.variants.values()]
    needed = any(implementation.needs for implementation in implementations)
    levels = [
        (f"factors.{factor}.{name}.backing", level.backing)
        for factor, levels in experiment.factors.items()
        for name, level in levels.items()
        if level.backing
    ]
    if not needed:
        said = ["backing"] * (experiment.backing is not None) + [place for place, _ in levels]
        if said:
            raise InputError(
                "means nothing here: no variant needs a backing service", file=path, place=said[0]
            )
        return experiment
    backing = experiment.backing or BackingSettings()
    if "upstream-api" in known:
        for place, changes in [("backing", backing.model_dump()), *levels]:
            _check_settings(changes.get("upstream", {}), known["upstream-api"], path, f"{place}.upstream")
    if any("postgresql" in implementation.needs for implementation in implementations):
        base = backing.model_dump(mode="json")
        _check_sql(contract_folder(root, experiment.workload), backing, path, "backing")
        for place, changes in levels:
            changed = _to_model(BackingSettings, {**base, **changes}, path, at=f"{place}.")
            _check_sql(contract_folder(root, experiment.workload), changed, path, place)
    return experiment.model_copy(update={"backing": backing})


def _check_sql(contract: Path, backing: BackingSettings, path: Path, place: str) -> None:
    seeds = sorted(seed.stem.removeprefix("seed-") for seed in contract.glob("seed-*.sql"))
    if backing.seed is not None and backing.seed not in seeds:
        raise _unknown("seed", backing.seed, seeds, file=path, place=f"{place}.seed")
    wanted = ["schema.sql", *(["index.sql"] if backing.index else [])]
    for name in wanted:
        if not (contract / name).is_file():
            raise InputError(
                "missing, and a database is needed", file=_short(contract / name), allowed="a file of SQL"
            )


def _unknown(
    what: str, found: str, known: Iterable[str], *, file: object, place: str | None = None
) -> InputError:
    names = sorted(known)
    close = difflib.get_close_matches(found, names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return InputError(
        f"unknown {what}{hint}", file=file, place=place, found=found, allowed=", ".join(names) or "none"
    )

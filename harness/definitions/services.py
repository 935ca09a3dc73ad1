# SPDX-License-Identifier: Apache-2.0
"""What stands below ``services/``: implementations by their ``service.toml``, requests by their contract.

A workload stands in ``services/WORKLOAD`` beside the experiment's file, else in that folder of the project.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from harness.definitions.strict_files import lines_of, short, text_of, to_model, toml_of, unknown
from harness.errors import InputError
from harness.model import Implementation, Request

SERVICES = Path("services")


#: Keys of an implementation that no file may have.
NOT_OF_A_FILE = ("toolchain", "folder")


def workload_folder(root: Path, workload: str, beside: Path | None = None) -> Path:
    """Return where a workload lies. ``beside``: the folder of an experiment's file, which comes first."""
    if beside is not None and (beside / SERVICES / workload).is_dir():
        return beside / SERVICES / workload
    return root / SERVICES / workload


def contract_folder(root: Path, workload: str, beside: Path | None = None) -> Path:
    """Return where a workload's contract lies."""
    return workload_folder(root, workload, beside) / "contract"


def service_folder(root: Path, implementation: Implementation) -> Path:
    """Return the folder of an implementation's ``service.toml``."""
    return implementation.folder or root / SERVICES / implementation.workload / implementation.name


def source_folder(root: Path, implementation: Implementation) -> Path:
    """Return the folder of an implementation's sources."""
    folder = service_folder(root, implementation)
    return folder if implementation.source is None else (folder / implementation.source).resolve()


def contract_of(root: Path, implementation: Implementation) -> Path:
    """Return where the contract of an implementation lies."""
    return service_folder(root, implementation).parent / "contract"


def load_implementations(root: Path, workload: str, beside: Path | None = None) -> dict[str, Implementation]:
    """Return name -> implementation for every ``services/<workload>/*/service.toml``.

    Raises:
        InputError: a service.toml is wrong, or says another name or workload than its folder.
    """
    implementations: dict[str, Implementation] = {}
    folder = workload_folder(root, workload, beside)
    for path in map(short, sorted(folder.glob("*/service.toml"))):
        implementation = _implementation(path, text_of(path))
        for place, text, meant in (
            ("name", implementation.name, path.parent.name),
            ("workload", implementation.workload, workload),
        ):
            if text != meant:
                raise InputError(
                    "must be the folder's name", file=path, place=place, found=text, allowed=repr(meant)
                )
        if folder != root / SERVICES / workload:
            implementation = implementation.model_copy(update={"folder": path.parent.resolve()})
        if not source_folder(root, implementation).is_dir():
            raise InputError(
                "no such folder", file=path, place="source", found=implementation.source,
                allowed="the folder with its sources, absolute or from the folder of this file",
            )  # fmt: skip
        implementations[implementation.name] = implementation
    return implementations


@lru_cache(maxsize=256)
def _implementation(path: Path, text: str) -> Implementation:
    """Return what a ``service.toml`` says; the same text is read once in a process."""
    data = toml_of(text, path)
    for key in NOT_OF_A_FILE:
        if key in data:
            raise unknown("key", key, set(Implementation.model_fields) - set(NOT_OF_A_FILE), file=path)
    return to_model(Implementation, data, path)


def load_requests(root: Path, workload: str, beside: Path | None = None) -> dict[str, tuple[Request, ...]]:
    """Return mix -> its requests, from the workload's ``contract/requests.jsonl``.

    Raises:
        InputError: missing, or a line of it is not a request.
    """
    path = short(contract_folder(root, workload, beside) / "requests.jsonl")
    if not path.is_file():
        known = sorted(folder.name for folder in (root / SERVICES).glob("*") if folder.is_dir())
        raise unknown("workload", workload, known, file=path)
    mixes: dict[str, tuple[Request, ...]] = {}
    for request in _requests(path, text_of(path)):
        mixes[request.mix] = (*mixes.get(request.mix, ()), request)
    return mixes


@lru_cache(maxsize=32)
def _requests(path: Path, text: str) -> tuple[Request, ...]:
    """Return the requests of a contract; the same text, which may be a hundred kilobytes, is read once in a process."""
    return tuple(request for _, request in lines_of(Request, text, path))

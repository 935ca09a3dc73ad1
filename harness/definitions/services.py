# SPDX-License-Identifier: Apache-2.0
"""What stands below ``services/``: implementations by their ``service.toml``, requests by their contract."""

from __future__ import annotations

import json
from pathlib import Path

from harness.definitions.strict_files import read_toml, short, to_model, unknown
from harness.errors import InputError
from harness.model import Implementation, Request

SERVICES = Path("services")


def contract_folder(root: Path, workload: str) -> Path:
    """Return where a workload's contract lies."""
    return root / SERVICES / workload / "contract"


def service_folder(root: Path, implementation: Implementation) -> Path:
    """Return the source folder of an implementation."""
    return root / SERVICES / implementation.workload / implementation.name


def load_implementations(root: Path, workload: str) -> dict[str, Implementation]:
    """Return name -> implementation for every ``services/<workload>/*/service.toml``.

    Raises:
        InputError: a service.toml is wrong, or says another name or workload than its folder.
    """
    found: dict[str, Implementation] = {}
    for path in map(short, sorted((root / SERVICES / workload).glob("*/service.toml"))):
        data = read_toml(path)
        if "toolchain" in data:
            raise unknown("key", "toolchain", set(Implementation.model_fields) - {"toolchain"}, file=path)
        implementation = to_model(Implementation, data, path)
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


def load_requests(root: Path, workload: str) -> dict[str, tuple[Request, ...]]:
    """Return mix -> its requests, from the workload's ``contract/requests.jsonl``.

    Raises:
        InputError: missing, or a line of it is not a request.
    """
    path = short(root / SERVICES / workload / "contract" / "requests.jsonl")
    if not path.is_file():
        known = sorted(folder.name for folder in (root / SERVICES).glob("*") if folder.is_dir())
        raise unknown("workload", workload, known, file=path)
    mixes: dict[str, tuple[Request, ...]] = {}
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", file=path, place=f"byte {error.start}") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            request = _request(line, path, number)
            mixes[request.mix] = (*mixes.get(request.mix, ()), request)
    return mixes


def _request(line: str, path: Path, number: int) -> Request:
    try:
        data = json.loads(line)
    except (RecursionError, ValueError) as error:
        raise InputError(f"not JSON ({str(error)[:80]})", file=path, place=f"line {number}") from None
    return to_model(Request, data, path, at=f"line {number}: ")

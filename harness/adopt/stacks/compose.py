# SPDX-License-Identifier: Apache-2.0
"""A Compose file: which of its services is built here, and what that needs of the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from harness.adopt.guess import Guess
from harness.errors import InputError

FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
#: Where images of PostgreSQL look for SQL when they make a database.
INITIAL_SQL = "/docker-entrypoint-initdb.d"
#: Variables that are one of those that a database is told by, and the one that it is.
_TOLD = {"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"}


@dataclass(frozen=True, kw_only=True)
class Composed:
    """What a Compose file says. ``build``: the folder of the service that is built; ``others``: name -> image."""

    file: Path
    service: str | None
    build: Path | None
    environment: dict[str, str]
    database: str | None
    schema: tuple[Path, ...]
    others: dict[str, str]


def read(folder: Path) -> Composed | None:
    """Return what the Compose file of a folder says; ``None``: there is none.

    Raises:
        InputError: it is not YAML, or has no services.
    """
    file = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if file is None:
        return None
    try:
        data: Any = yaml.safe_load(file.read_text("utf-8"))
        services: dict[str, Any] = {str(name): dict(one) for name, one in data["services"].items()}
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, UnicodeDecodeError) as problem:
        said = " ".join(str(problem).split())[:160]
        raise InputError(f"not a Compose file: {said}", file=file, allowed="services: ...") from None
    built = [name for name, one in services.items() if "build" in one]
    images = {name: str(one.get("image", "")) for name, one in services.items() if name not in built[:1]}
    database = next(
        (name for name, image in images.items() if re.search(r"(^|/)(postgres|postgis)", image)), None
    )
    own = services[built[0]] if built else {}
    return Composed(
        file=file,
        service=built[0] if built else None,
        build=_context(folder, own["build"]) if built else None,
        environment=_environment(own.get("environment")),
        database=database,
        schema=() if database is None else tuple(_initial_sql(folder, services[database])),
        others={name: image for name, image in images.items() if name != database},
    )


def completed(guess: Guess, composed: Composed) -> Guess:
    """Return the guess with what its Compose file adds: a database, and a remark on all that is left out."""
    remarks = [f"{composed.file.name}: service {composed.service!r} is built in {guess.source}"]
    if composed.database is not None:
        remarks.append(
            f"service {composed.database!r} is replaced by a fresh PostgreSQL for each trial, told by "
            f"{' '.join(sorted(_TOLD))}"
        )
        other = sorted(set(composed.environment) - _TOLD)
        if other:
            remarks.append(f"not set, as their values are of Compose's network: {', '.join(other)}")
    remarks += [
        f"unavailable: service {name!r} ({image or 'built here'}) needs a container, and none is started"
        for name, image in composed.others.items()
    ]
    needs = ("postgresql",) if composed.database is not None else ()
    return replace(guess, needs=needs, schema=composed.schema, remarks=(*guess.remarks, *remarks))


def _context(folder: Path, build: Any) -> Path:
    context = build.get("context", ".") if isinstance(build, dict) else build
    return (folder / str(context)).resolve()


def _environment(given: Any) -> dict[str, str]:
    if isinstance(given, dict):
        return {str(name): str(value) for name, value in given.items()}
    pairs = (str(line).partition("=") for line in given or ())
    return {name: value for name, _, value in pairs}


def _initial_sql(folder: Path, service: dict[str, Any]) -> list[Path]:
    found: list[Path] = []
    for volume in service.get("volumes", ()):
        source, _, target = str(volume).partition(":") if isinstance(volume, str) else ("", "", "")
        path = folder / source
        if INITIAL_SQL in target and path.is_file():
            found.append(path)
        elif INITIAL_SQL in target and path.is_dir():
            found += sorted(path.glob("*.sql"))
    return found

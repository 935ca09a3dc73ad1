# SPDX-License-Identifier: Apache-2.0
"""A Compose file: which of its services is built here, and what that needs of the others."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from harness.adopt.guess import BY_VARIABLE, Guess, parts_of, started
from harness.errors import InputError

FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
#: Where images of PostgreSQL look for SQL when they make a database.
INITIAL_SQL = "/docker-entrypoint-initdb.d"
#: Variables by which a database is told.
_TOLD = {"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"}
#: In variables of other names: what of a database a value is, by the variable's name.
_PARTS = (
    ("USER", "$PGUSER"),
    ("PASS", "$PGPASSWORD"),
    ("PORT", "$PGPORT"),
    ("DB|DATABASE|NAME", "$PGDATABASE"),
)
_USUAL_PORT = "5432"


@dataclass(frozen=True, kw_only=True)
class Composed:
    """What a Compose file says. ``build``: the folder of the service that is built; ``environment``: ``NAME=value`` of
    each, with the trial's database and port in it; ``images``: name -> image; ``remarks``: what is left out."""

    file: Path
    service: str | None
    build: Path | None
    environment: tuple[str, ...]
    database: str | None
    schema: tuple[Path, ...]
    images: dict[str, str]
    remarks: tuple[str, ...]


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
        services: dict[str, Any] = {str(name): dict(item) for name, item in data["services"].items()}
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, UnicodeDecodeError) as problem:
        text = " ".join(str(problem).split())[:160]
        raise InputError(f"not a Compose file: {text}", file=file, allowed="services: ...") from None
    built = [name for name, item in services.items() if "build" in item]
    images = {name: str(item.get("image", "")) for name, item in services.items() if name not in built[:1]}
    database = next(
        (name for name, image in images.items() if re.search(r"(^|/)(postgres|postgis)", image)), None
    )
    own = services[built[0]] if built else {}
    further = {name: image for name, image in images.items() if name != database}
    values, remarks = _variables(own, database, services.get(database or "", {}), further)
    return Composed(
        file=file,
        service=built[0] if built else None,
        build=_context(folder, own["build"]) if built else None,
        environment=values,
        database=database,
        schema=() if database is None else tuple(_initial_sql(folder, services[database])),
        images=further,
        remarks=remarks,
    )


def completed(guess: Guess, composed: Composed) -> Guess:
    """Return the guess with what its Compose file adds: variables, a database, and a remark on all that is left out."""
    built = "no service" if composed.service is None else f"service {composed.service!r}"
    remarks = [f"{composed.file.name}: {built} is built in {guess.source}", *composed.remarks]
    if composed.database is not None:
        remarks.append(
            f"service {composed.database!r} is replaced by a fresh PostgreSQL for each trial, told by "
            f"{' '.join(sorted(_TOLD))}"
        )
    remarks += [
        f"unavailable: service {name!r} ({image or 'built here'}) needs a container, and none is started"
        for name, image in composed.images.items()
    ]
    needs = ("postgresql",) if composed.database is not None else ()
    guess = replace(
        guess, needs=needs, schema=composed.schema, start=_with(guess.start, composed.environment)
    )
    if composed.environment:
        names = ", ".join(word.partition("=")[0] for word in composed.environment)
        why = guess.why["start"]
        if any("{port}" in word for word in composed.environment):  # this file says how it takes its port
            why = why.replace(BY_VARIABLE, "").strip("; ")
        guess = guess.because(start="; ".join(filter(None, (why, f"{names} as in {composed.file.name}"))))
    return guess.remarked(*remarks)


def _with(start: tuple[str, ...], environment: tuple[str, ...]) -> tuple[str, ...]:
    """The start with variables; those with the database's in them are filled in by a shell, which it replaces."""
    inside, before, program = parts_of(start)
    if any("{port}" in word for word in environment):
        before = tuple(word for word in before if word != "PORT={port}")
    if not any("$" in word for word in environment):
        return started(program, *environment, *before, inside=inside)
    quoted = " ".join(f'"{word}"' if "$" in word else shlex.quote(word) for word in environment)
    return ("sh", "-c", f'exec env {quoted} "$@"', "sh", *started(program, *before, inside=inside))


def _variables(
    own: dict[str, Any], database: str | None, of_database: dict[str, Any], images: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables of the service, and remarks on those that are left out."""
    ports = (*(own.get("ports") or ()), *(own.get("expose") or ()))
    targets = (port.get("target") if isinstance(port, dict) else port for port in ports)
    inner = {str(port).split("/")[0].split(":")[-1] for port in targets}
    values = set(_environment(of_database.get("environment")).values()) | {_USUAL_PORT}
    given: list[str] = []
    remarks = [
        f"its {key} is not read" for key in ("env_file", "command", "entrypoint", "extends") if key in own
    ]
    for name, value in _environment(own.get("environment")).items():
        part = next((put for words, put in _PARTS if re.search(words, name)), None)
        host, _, port = value.rpartition(":")
        if name in _TOLD:
            continue
        if port in inner and (not host or host == "0.0.0.0"):
            given.append(f"{name}={'{host}:' if ':' in value else ''}{{port}}")
        elif database is not None and re.search(rf"(^|//|@){database}(:\d+)?(/|$)", value):
            given.append(f"{name}={_of_trial(value, database)}")
        elif database is not None and part is not None and value in values:
            given.append(f"{name}={part}")
        elif "$" in value or any(re.search(rf"(^|//|@){image}(:\d+)?(/|$)", value) for image in images):
            remarks.append(f"{name}={value} is not set: it is of another service, or of the shell")
        else:
            given.append(f"{name}={value}")
    return tuple(given), tuple(remarks)


def _of_trial(value: str, database: str) -> str:
    """An address of the database with the trial's in its place: a host, or a URL with or without a user."""
    user = "$PGUSER:$PGPASSWORD@" if "@" in value else ""
    url = re.sub(rf"//([^@/]*@)?{database}(:\d+)?(/[^?]*)?", f"//{user}$PGHOST:$PGPORT/$PGDATABASE", value)
    return re.sub(rf"^{database}(:\d+)?$", lambda match: "$PGHOST:$PGPORT" if match[1] else "$PGHOST", url)


def _context(folder: Path, build: Any) -> Path:
    context = build.get("context", ".") if isinstance(build, dict) else build
    return (folder / str(context)).resolve()


def _environment(given: Any) -> dict[str, str]:
    """Variables with their values; one without a value is the shell's."""
    if not isinstance(given, dict):
        pairs = (str(line).partition("=") for line in given or ())
        given = {name: value if equals else None for name, equals, value in pairs}
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()
    }
    return {str(name): f"${name}" if given[name] is None else text for name, text in texts.items()}


def _initial_sql(folder: Path, service: dict[str, Any]) -> list[Path]:
    result: list[Path] = []
    for volume in service.get("volumes") or ():
        source, _, target = str(volume).partition(":") if isinstance(volume, str) else ("", "", "")
        path = folder / source
        if INITIAL_SQL in target and path.is_file():
            result.append(path)
        elif INITIAL_SQL in target and path.is_dir():
            result += sorted(path.glob("*.sql"))
    return result

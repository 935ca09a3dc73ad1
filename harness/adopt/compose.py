# SPDX-License-Identifier: Apache-2.0
"""A Compose file: which of its services is built here, and what that needs of the others."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.errors import InputError

FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
#: Where images of PostgreSQL look for SQL when they make a database.
INITIAL_SQL = "/docker-entrypoint-initdb.d"
#: Variables by which a program is given its database.
_DATABASE_VARIABLES = {"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"}
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
    each, with the trial's database and port in it; ``remarks``: what is left out or replaced."""

    file: Path
    service: str | None
    build: Path | None
    environment: tuple[str, ...]
    database: str | None
    schema: tuple[Path, ...]
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
    service = next((name for name, item in services.items() if "build" in item), None)
    images = {name: str(item.get("image", "")) for name, item in services.items() if name != service}
    database = next(
        (name for name, image in images.items() if re.search(r"(^|/)(postgres|postgis)", image)), None
    )
    own = {} if service is None else services[service]
    build = own.get("build")
    context = build.get("context", ".") if isinstance(build, dict) else build
    further = {name: image for name, image in images.items() if name != database}
    environment, remarks = _variables(own, database, services.get(database or "", {}), further)
    if database is not None:
        names = " ".join(sorted(_DATABASE_VARIABLES))
        remarks.append(f"service {database!r} is replaced by a fresh PostgreSQL for each trial, in {names}")
    remarks += [
        f"unavailable: service {name!r} ({image or 'built here'}) needs a container, and none is started"
        for name, image in further.items()
    ]
    return Composed(
        file=file,
        service=service,
        build=None if service is None else (folder / str(context)).resolve(),
        environment=tuple(environment),
        database=database,
        schema=() if database is None else tuple(_initial_sql(folder, services[database])),
        remarks=tuple(remarks),
    )


def _variables(
    own: dict[str, Any], database: str | None, of_database: dict[str, Any], further: Collection[str]
) -> tuple[list[str], list[str]]:
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
        if name in _DATABASE_VARIABLES:
            continue
        if port in inner and (not host or host == "0.0.0.0"):
            given.append(f"{name}={'{host}:' if ':' in value else ''}{{port}}")
        elif database is not None and _leads_to(database, value):
            given.append(f"{name}={_of_trial(value, database)}")
        elif database is not None and part is not None and value in values:
            given.append(f"{name}={part}")
        elif "$" in value or any(_leads_to(service, value) for service in further):
            remarks.append(f"{name}={value} is not set: it is of another service, or of the shell")
        else:
            given.append(f"{name}={value}")
    return given, remarks


def _leads_to(service: str, value: str) -> bool:
    return re.search(rf"(^|//|@){service}(:\d+)?(/|$)", value) is not None


def _of_trial(value: str, database: str) -> str:
    """An address of the database with the trial's in its place: a host, or a URL with or without a user."""
    user = "$PGUSER:$PGPASSWORD@" if "@" in value else ""
    url = re.sub(rf"//([^@/]*@)?{database}(:\d+)?(/[^?]*)?", f"//{user}$PGHOST:$PGPORT/$PGDATABASE", value)
    return re.sub(rf"^{database}(:\d+)?$", lambda match: "$PGHOST:$PGPORT" if match[1] else "$PGHOST", url)


def _environment(given: Any) -> dict[str, str]:
    """Variables with their values; one without a value is the shell's."""
    if not isinstance(given, dict):
        pairs = (str(line).partition("=") for line in given or ())
        given = {name: value if equals else None for name, equals, value in pairs}
    return {
        str(name): f"${name}"
        if value is None
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
        for name, value in given.items()
    }


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

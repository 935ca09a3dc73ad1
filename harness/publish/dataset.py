# SPDX-License-Identifier: Apache-2.0
"""The data package: bundled sessions with their tables, described for people and for programs.

``datapackage.json`` is the schema (Frictionless Data Package, Table Schema), ``checksums.sha256`` what ``sha256sum -c``
reads. Of the same commit and the same sessions all text files have the same bytes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

from harness.agent.files import file_sha256
from harness.analysis.tables import schema
from harness.analysis.tables.layout import load_trials
from harness.analysis.tables.schema import LEDGER, Column, columns, page, unit_of
from harness.analysis.tables.tidy import tidy
from harness.errors import InputError, StoreError
from harness.publish.generated import GENERATED
from harness.store import Store

FOLDER = Path("results") / "data-package"
CHECKSUMS, SCHEMA = "checksums.sha256", "datapackage.json"
_KEY = ["source", "session_id", "trial_id"]


def write_package(
    root: Path,
    folder: Path,
    experiments: Collection[str] | None = None,
    *,
    ledger: pd.DataFrame | None = None,
) -> list[str]:
    """Write the package into a new or empty folder, or over an earlier package; return its files relative to that.

    Args:
        experiments: names; ``None``: all that have a bundled session.
        ledger: published claims with their verdicts, columns as of ``schema.LEDGER``; ``None``: left out.

    Raises:
        InputError: the folder has something else in it, or an experiment has no bundled session.
        StoreError: it cannot be written.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError("is not a folder", file=folder, allowed="a new or an empty folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / SCHEMA).is_file():
            allowed = "a new or an empty folder, or a data package"
            raise InputError("already exists", file=folder, allowed=allowed)
        shutil.rmtree(folder)
    stored = [(session.folder.parent.name, session) for session in Store(root).sessions(bundled=True)]
    known = sorted({name for name, _ in stored})
    names = known if experiments is None else sorted(experiments)
    if lacking := [name for name in names if name not in known]:
        raise InputError("no bundled session", place=", ".join(lacking), allowed=", ".join(known))
    if not names:
        raise InputError("no bundled session", file=root / "data" / "raw" / "bundled")
    tidy(root, names, sources=["bundled"])
    sessions = [(name, session) for name, session in stored if name in names]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _json(folder / SCHEMA, {})  # an interrupted package is known as one by the next run
        for name, session in sessions:
            if session.archive is not None:
                archive = session.archive.path
                _copy(archive, folder / "sessions" / name / archive.name)
        for path in sorted((root / "data" / "published").glob("*.csv")):
            _copy(path, folder / "published" / path.name)
        if experiments is None:
            _copy_rows(root, folder / "rows")
        resources = [_trials(root, folder, name) for name in names]
        resources += [_published(path, folder) for path in sorted((folder / "published").glob("*.csv"))]
        resources += [] if ledger is None else [_ledger(ledger, folder)]
        (folder / "data-dictionary.md").write_text(page(), "utf-8")
        _json(folder / SCHEMA, {
            "profile": "tabular-data-package", "name": "rematch",
            "title": "Rematch: measured trials of Java and Go microservices",
            "description": "Trials as the tools wrote them, the tables derived from them, and the numbers of the "
            "articles that they are compared with.",
            "licenses": [{"name": "CC-BY-4.0", "path": "https://creativecommons.org/licenses/by/4.0/"}],
            "resources": resources,
        })  # fmt: skip
        lines = [f"{file_sha256(folder / name)}  {name}\n" for name in _files(folder) if name != CHECKSUMS]
        (folder / CHECKSUMS).write_text("".join(lines), "utf-8")
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    return _files(folder)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _copy_rows(root: Path, folder: Path) -> None:
    """Copy the rows of results that notebooks published of bundled sessions; what was measured here stays out."""
    for path in sorted((root / GENERATED / "rows").glob("*.parquet")):
        inputs = pq.read_table(path, columns=["inputs"])["inputs"].to_pylist()
        if all(trial.startswith("bundled/") for trials in inputs for trial in trials or ()):
            folder.mkdir(exist_ok=True)
            shutil.copyfile(path, folder / path.name)


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _trials(root: Path, folder: Path, experiment: str) -> dict[str, Any]:
    """Write an experiment's table as Parquet and as CSV; return its resource."""
    frame = load_trials(root, experiment, "bundled")
    factors = [name for name in frame.columns if name not in schema.COLUMNS]
    base = f"tables/{experiment}/trials"
    (folder / base).parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / f"{base}.parquet", index=False, compression="zstd")
    words = {name: frame[name].map({True: "true", False: "false"}) for name in schema.SWITCHES}
    frame.assign(**words).to_csv(folder / f"{base}.csv", index=False, lineterminator="\n")
    title = f"one row per trial of {experiment}; the same table as trials.parquet"
    fields = list(map(_field, columns(factors)))
    return _resource(f"trials-{experiment}", f"{base}.csv", title, fields, primaryKey=_KEY)


def _ledger(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Write the ledger of claims; return its resource."""
    frame.to_csv(folder / "claims.csv", index=False, lineterminator="\n")
    title = "published claims, a row a number, with verdicts then and now"
    return _resource("claims", "claims.csv", title, list(map(_field, LEDGER)))


def _published(path: Path, folder: Path) -> dict[str, Any]:
    """Return the resource of a table of an article; a column is of numbers where every cell that is filled is one."""
    lines = path.read_text("utf-8").splitlines()
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    frame = pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)
    fields = []
    for name in frame.columns:
        cells = frame[name][frame[name] != ""]
        numeric = len(cells) > 0 and bool(pd.to_numeric(cells, errors="coerce").notna().all())
        unit = {"unit": unit_of(name)} if numeric else {}
        fields.append({"name": name, "type": "number" if numeric else "string", **unit})
    place, title = path.relative_to(folder).as_posix(), f"numbers of articles: {path.stem}"
    return _resource(f"published-{path.stem}", place, title, fields) | {
        "description": " ".join(line for line in comments if not line.startswith("SPDX")),
        "dialect": {"commentChar": "#"},
    }


def _resource(
    name: str, path: str, title: str, fields: Sequence[Mapping[str, Any]], **more: Any
) -> dict[str, Any]:
    return {
        "name": name, "path": path, "title": title, "profile": "tabular-data-resource", "format": "csv",
        "mediatype": "text/csv", "encoding": "utf-8",
        "schema": {"fields": list(fields), "missingValues": [""], **more},
    }  # fmt: skip


def _field(column: Column) -> dict[str, Any]:
    rules: dict[str, Any] = {"required": column.required}
    if column.minimum is not None:
        rules["minimum"] = column.minimum
    if column.allowed:
        rules["enum"] = list(column.allowed)
    unit = {"unit": column.unit} if column.unit else {}
    about = {"name": column.name, "type": column.type, "description": column.meaning}
    return about | unit | {"constraints": rules}

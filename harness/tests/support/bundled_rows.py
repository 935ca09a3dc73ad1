# SPDX-License-Identifier: Apache-2.0
"""Which trials of the bundled sessions have a row a request: asked by who collects tests, so in every worker of a run.

To find them every archive is opened, which takes seconds; the list is kept below ``.cache`` by the archives' checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from harness.project import find_root
from harness.store import SessionFolder, Store

#: What tools write for each request, in the folder of a trial.
ROWS = ("load/samples.jtl", "load/samples.csv")
_ROOT = find_root(Path(__file__).parent)
_BUNDLED = _ROOT / "data" / "raw" / "bundled"
_KEPT = _ROOT / ".cache" / "tests" / "bundled-rows.json"


class Bundled(NamedTuple):
    """A session, the file in which its trials have a row a request, and the trials that have it, by name."""

    session: SessionFolder
    file: str
    trials: list[str]


def bundled_rows() -> dict[str, Bundled]:
    """Return every bundled session whose tool wrote a row a request: a name -> session, file, and its trials."""
    of = _content()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # there is none, or half of one
        kept = json.loads(_KEPT.read_text("utf-8"))
        if kept["of"] == of:
            return {
                name: Bundled(SessionFolder(_BUNDLED / folder, bundled=True), file, trials)
                for name, (folder, file, trials) in kept["rows"].items()
            }
    found = _found()
    rows = {
        name: (one.session.folder.relative_to(_BUNDLED).as_posix(), one.file, one.trials)
        for name, one in found.items()
    }
    _KEPT.parent.mkdir(parents=True, exist_ok=True)
    fresh = _KEPT.with_name(f".{_KEPT.name}.{os.getpid()}")
    fresh.write_text(json.dumps({"of": of, "rows": rows}), "utf-8")
    fresh.replace(_KEPT)
    return found


def _content() -> str:
    """A hash of the archives' checksums, and of what is asked of them."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(_BUNDLED.glob("*/*.sha256")):
        digest.update(f"{path.relative_to(_BUNDLED)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _found() -> dict[str, Bundled]:
    store, found = Store(_ROOT), {}
    for experiment in sorted(path.name for path in _BUNDLED.iterdir()):
        for session in store.sessions(experiment, bundled=True):
            trials = sorted(session.finished())
            for name in ROWS:
                if mine := [trial for trial in trials if session.has(trial, name)]:
                    key = f"{session.key.removeprefix('bundled/')}/{Path(name).suffix[1:]}"
                    found[key] = Bundled(session, name, mine)
    return found

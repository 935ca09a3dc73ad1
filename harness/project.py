# SPDX-License-Identifier: Apache-2.0
"""Where things stand: the project's root, found by a marker file, and the folders below it.

papermill, Jupyter and the command line start in different folders; all of them
find the same root. Paths inside ``data/raw`` are the business of ``store`` alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import InputError

#: Both must stand in a folder for it to be the root.
MARKERS = ("pyproject.toml", "harness/model")
ROOT_VARIABLE = "REMATCH_ROOT"
#: Definitions of experiments, and beside them the ledgers of published claims, which are none.
EXPERIMENTS = Path("harness") / "experiments"
LEDGERS = ("claims", "runtime-claims")


def find_root(start: Path | None = None) -> Path:
    """Return the project's root folder: ``$REMATCH_ROOT``, else the nearest marked folder
    upwards from ``start`` (default: the working directory), else where this package stands.

    Raises:
        InputError: ``$REMATCH_ROOT`` is set and is not a project.
    """
    chosen = os.environ.get(ROOT_VARIABLE)
    if chosen:
        root = Path(chosen).resolve()
        if not _is_root(root):
            raise InputError(
                "not the root of a Rematch project",
                file=ROOT_VARIABLE,
                found=chosen,
                allowed=f"a folder that holds {' and '.join(MARKERS)}",
            )
        return root
    here = (start or Path.cwd()).resolve()
    package_root = Path(__file__).resolve().parent.parent
    for folder in (here, *here.parents, package_root):
        if _is_root(folder):
            return folder
    raise InputError(
        "no Rematch project here or above",
        file=here,
        allowed=f"a folder that holds {' and '.join(MARKERS)}, or {ROOT_VARIABLE} set to one",
    )


def experiment_paths(root: Path) -> dict[str, Path]:
    """Return name -> file of every experiment that comes with the project; the ledgers of claims are left out."""
    files = sorted((root / EXPERIMENTS).glob("*.toml"))
    return {path.stem: path for path in files if path.stem not in LEDGERS}


def _is_root(folder: Path) -> bool:
    return all((folder / marker).exists() for marker in MARKERS)

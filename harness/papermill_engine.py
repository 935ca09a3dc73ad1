# SPDX-License-Identifier: Apache-2.0
"""What papermill loads from this project: the default output path, and an engine that encrypts a kernel's ports.

papermill imports every ``papermill.engine`` entry point before it reads its arguments. That is the only
moment at which ``papermill notebooks/run_all.ipynb`` can be completed to what it means; without an output
path papermill refuses on a terminal, prints JSON into a redirected stdout, and takes the notebook for the
*output* when stdin is a pipe.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

ENGINE = "rematch"
#: In the environment of a kernel that papermill's command started; JupyterLab's kernels do not have it.
UNDER_PAPERMILL = "REMATCH_PAPERMILL"
#: How often a kernel is started, and how nbclient's message begins when one has ended before its first answer.
_STARTS, _NOT_STARTED = 3, "Kernel died before replying"


def completed(arguments: Sequence[str]) -> list[str]:
    """Return papermill's arguments, completed where the only path among them is a notebook of a Rematch project.

    Args:
        arguments: what follows the program's name. Where the first is no such notebook, another one ends in
            ``.ipynb``, or no option follows the first, they stay as they are.
    """
    given = list(arguments)
    notebook = Path(given[0] if given else "")
    alone = sum(word.endswith(".ipynb") for word in given) == 1 and all(w.startswith("-") for w in given[1:2])
    folders = (
        notebook.resolve().parents if alone and notebook.suffix == ".ipynb" and notebook.is_file() else ()
    )
    root = next((folder.parent for folder in folders if folder.name == "notebooks"), None)
    if root is None or not all((root / marker).exists() for marker in ("pyproject.toml", "harness/model")):
        return given
    output = root / "results" / notebook.name
    output.parent.mkdir(exist_ok=True)
    return [*given, "--engine", ENGINE, "--log-output", os.path.relpath(output)]


def _is_papermill() -> bool:
    """Tell whether this process is papermill's command line, and not somebody's use of its API."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    if program.stem == "papermill" or program.parts[-2:] == ("papermill", "__main__.py"):
        return True
    words = sys.orig_argv  # while `python -m papermill` is looked up, argv[0] is still "-m"
    return sys.argv[:1] == ["-m"] and any(pair == ("-m", "papermill") for pair in itertools.pairwise(words))


def _in_one_line(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
    """Print an error that a notebook raised on purpose as its line, all others as Python does.

    Its kernel shows such an error without a traceback (``harness.analysis.evidence.parameters``).
    """
    if kind.__name__ == "PapermillExecutionError" and len(getattr(error, "traceback", ())) == 1:
        print(f"rematch: {getattr(error, 'evalue', error)}", file=sys.stderr, flush=True)
    else:
        sys.__excepthook__(kind, error, frames)


def __getattr__(name: str) -> Any:
    """Define the engine when papermill asks for it: papermill's own modules are being imported before."""
    if name != "RematchEngine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from papermill.engines import NBClientEngine  # type: ignore[import-untyped]  # papermill ships no types
    from traitlets.config import Config

    class RematchEngine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
            """Execute with encrypted ports; again where a kernel ended before its first answer, before any cell.

            A kernel's ports are chosen before it is started, and on a busy machine another program may take one.
            """
            options["config"] = Config({"KernelManager": {"transport_encryption": "auto"}})
            for left in reversed(range(_STARTS)):
                try:
                    return super().execute_managed_notebook(nb_man, kernel_name, **options)
                except RuntimeError as problem:
                    if not left or not str(problem).startswith(_NOT_STARTED):
                        raise
            return None

    return RematchEngine


if _is_papermill():
    os.environ[UNDER_PAPERMILL] = "1"
    sys.excepthook = _in_one_line
    _arguments = completed(sys.argv[1:])
    if _arguments != sys.argv[1:]:
        print(f"rematch: the executed notebook is written to {_arguments[-1]}", file=sys.stderr, flush=True)
        sys.argv[1:] = _arguments

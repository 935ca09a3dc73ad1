# SPDX-License-Identifier: Apache-2.0
"""What papermill loads from this project: the default output path, and words on the terminal while it works.

papermill imports every ``papermill.engine`` entry point before it reads its arguments. That is the only
moment at which ``papermill notebooks/run_all.ipynb`` can be completed to what it means; without an output
path papermill refuses on a terminal, prints JSON into a redirected stdout, and takes the notebook for the
*output* when stdin is a pipe. Nothing is touched unless the command is papermill's own and its first
argument is a notebook of a Rematch project, so papermill stays itself everywhere else.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

NOTEBOOKS, RESULTS, RUN_ALL = "notebooks", "results", "run_all.ipynb"
ENGINE = "rematch"
#: In the environment of a kernel that papermill started by this engine; JupyterLab's kernels do not have it.
UNDER_PAPERMILL = "REMATCH_PAPERMILL"
#: A display with this kind of data carries lines for a terminal. Notebook front ends ignore it.
STATUS_MIME = "application/vnd.rematch.status+json"
#: How often a kernel is started, and how nbclient's message begins when one has ended before its first answer.
_STARTS, _NOT_STARTED = 3, "Kernel died before replying"

_FLAGS = frozenset(
    [
        "--inject-input-path",
        "--inject-output-path",
        "--inject-paths",
        "--request-save-on-cell-execute",
        "--no-request-save-on-cell-execute",
        "--prepare-only",
        "--prepare-execute",
        "--progress-bar",
        "--no-progress-bar",
        "--log-output",
        "--no-log-output",
        "--report-mode",
        "--no-report-mode",
    ]
)
_TAKE_TWO = frozenset(("-p", "--parameters", "-r", "--parameters_raw"))
_TAKE_ONE = frozenset(
    [
        "-f",
        "--parameters_file",
        "-y",
        "--parameters_yaml",
        "-b",
        "--parameters_base64",
        "--engine",
        "--autosave-cell-every",
        "-k",
        "--kernel",
        "-l",
        "--language",
        "--cwd",
        "--stdout-file",
        "--stderr-file",
        "--log-level",
        "--start-timeout",
        "--start_timeout",
        "--execution-timeout",
    ]
)


def completed(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Return papermill's arguments completed, and the line that says so (``None``: left as they are).

    Args:
        arguments: what follows the program's name. Help, an option unknown here, a notebook from
            elsewhere, or more than one path beside it leave them untouched.
    """
    same = list(arguments)
    paths, options = _split(arguments)
    if paths is None or not 1 <= len(paths) <= 2:
        return same, None
    notebook = Path(paths[0])
    root = _project_of(notebook)
    if root is None:
        return same, None
    added: list[str] = []
    line = None
    if len(paths) == 1:
        output = root / RESULTS / notebook.name
        output.parent.mkdir(exist_ok=True)
        shown = os.path.relpath(output)
        added.append(shown)
        line = f"rematch: no output path given, so the executed notebook is written to {shown}"
    if "--engine" not in options:
        added = ["--engine", ENGINE, *added]
    return [*same, *added], line


def _split(arguments: Sequence[str]) -> tuple[list[str] | None, set[str]]:
    """Return the paths among papermill's arguments and the options used; ``None``: not to be completed."""
    paths: list[str] = []
    options: set[str] = set()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        if not word.startswith("-") or word == "-":
            paths.append(word)
        elif name in _TAKE_TWO and not equals:
            del rest[:2]
        elif name in _TAKE_ONE:
            options.add(name)
            if not equals:
                del rest[:1]
        elif word not in _FLAGS:
            return None, options
    return paths, options


def _project_of(notebook: Path) -> Path | None:
    """Return the root of the project whose notebook this is: ``ROOT/notebooks/**.ipynb``."""
    if notebook.suffix != ".ipynb" or not notebook.is_file():
        return None
    path = notebook.resolve()
    for folder in path.parents:
        if folder.name == NOTEBOOKS and (folder.parent / "harness" / "model").is_dir():
            return folder.parent if (folder.parent / "pyproject.toml").is_file() else None
    return None


def _is_papermill() -> bool:
    """Tell whether this process is papermill's command line, and not somebody's use of its API."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    if program.stem == "papermill":
        return True
    if program.parts[-2:] == ("papermill", "__main__.py"):
        return True
    words = sys.orig_argv  # while `python -m papermill` is looked up, argv[0] is still "-m"
    return sys.argv[:1] == ["-m"] and any(pair == ("-m", "papermill") for pair in itertools.pairwise(words))


def _complete_command_line() -> None:
    if not _is_papermill():
        return
    arguments, line = completed(sys.argv[1:])
    if ENGINE in arguments:
        sys.excepthook = _in_one_line
    sys.argv[1:] = arguments
    if line:
        print(line, file=sys.stderr, flush=True)


def _in_one_line(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
    """Print an error that a notebook raised on purpose as its line, all others as Python does.

    Its kernel shows such an error without a traceback (``harness.evidence.parameters``).
    """
    if kind.__name__ == "PapermillExecutionError" and len(getattr(error, "traceback", ())) == 1:
        print(f"rematch: {getattr(error, 'evalue', error)}", file=sys.stderr, flush=True)
    else:
        sys.__excepthook__(kind, error, frames)


class RematchEngine:
    """papermill's own way of executing, which also prints a notebook's status lines to the terminal.

    Not a subclass of papermill's engines: papermill may be importing us at this very moment, so its
    classes are looked up when they are needed.
    """

    @classmethod
    def execute_notebook(  # papermill's signature
        cls,
        nb: Any,
        kernel_name: str,
        output_path: str | None = None,
        progress_bar: object = None,  # the status lines take its place
        log_output: bool = False,
        autosave_cell_every: int = 30,
        **kwargs: Any,
    ) -> Any:
        """Execute and return the notebook, saved after every cell like papermill's default engine."""
        from papermill.engines import NotebookExecutionManager  # type: ignore[import-untyped]  # papermill ships no types

        os.environ[UNDER_PAPERMILL] = "1"
        manager = NotebookExecutionManager(
            nb,
            output_path=output_path,
            progress_bar=False,
            log_output=log_output,
            autosave_cell_every=autosave_cell_every,
        )
        manager.notebook_start()
        try:
            _execute(lambda: _speaking_client(manager, kernel_name, log_output, dict(kwargs)))
        finally:
            manager.notebook_complete()
        return manager.nb

    @classmethod
    def nb_kernel_name(cls, nb: Any, name: str | None = None) -> str:
        """Return the kernel's name as papermill finds it."""
        from papermill.utils import nb_kernel_name  # type: ignore[import-untyped]  # papermill ships no types

        return str(nb_kernel_name(nb, name))

    @classmethod
    def nb_language(cls, nb: Any, language: str | None = None) -> str:
        """Return the notebook's language as papermill finds it."""
        from papermill.utils import nb_language

        return str(nb_language(nb, language))


def _execute(client: Callable[[], Any]) -> None:
    """Execute by a new client; again where its kernel ended before its first answer, when no cell had run.

    A kernel's ports are chosen before it is started, and on a busy machine another program may take one of them.
    """
    for left in reversed(range(_STARTS)):
        try:
            client().execute()
        except RuntimeError as problem:
            if left and str(problem).startswith(_NOT_STARTED):
                continue
            raise
        return


def _speaking_client(manager: Any, kernel_name: str, log_output: bool, options: dict[str, Any]) -> Any:
    from papermill.clientwrap import PapermillNotebookClient  # type: ignore[import-untyped]  # papermill ships no types
    from papermill.log import logger  # type: ignore[import-untyped]  # papermill ships no types

    class SpeakingClient(PapermillNotebookClient):  # type: ignore[misc]  # papermill has no types
        def process_message(self, msg: Any, *args: Any, **kwargs: Any) -> Any:
            _say(msg)
            return super().process_message(msg, *args, **kwargs)

    from traitlets.config import Config

    options.pop("input_path", None)
    # A kernel's sockets are TCP ports of this machine; keys keep other users from reading along.
    options["config"] = Config({"KernelManager": {"transport_encryption": "auto"}})
    timeout = options.pop("execution_timeout", None) or options.pop("timeout", None)
    startup_s = options.pop("start_timeout", 60)
    return SpeakingClient(
        manager,
        timeout=timeout,
        startup_timeout=startup_s,
        kernel_name=kernel_name,
        log=logger,
        log_output=log_output,
        **options,
    )


def _say(message: Any) -> None:
    if message.get("msg_type") not in ("display_data", "update_display_data"):
        return
    for line in message["content"]["data"].get(STATUS_MIME, {}).get("lines", ()):
        print(line, file=sys.stderr, flush=True)


_complete_command_line()

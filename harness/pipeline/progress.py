# SPDX-License-Identifier: Apache-2.0
"""Where progress is shown: one updating display in a kernel, plain lines where there is none."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from harness.papermill_engine import STATUS_MIME
from harness.pipeline.status import StageTable


class Progress(Protocol):
    """Shows the table."""

    def show(self, table: StageTable, *lines: str) -> None:
        """Show the table as it stands now; ``lines`` are the news, for readers of a terminal."""
        ...


class KernelProgress:
    """One display that is updated in place. papermill's ``rematch`` engine prints the lines on the terminal."""

    def __init__(self) -> None:
        from IPython.display import DisplayHandle

        self._handle: Any = DisplayHandle()  # type: ignore[no-untyped-call]  # IPython's own is untyped
        self._shown = False

    def show(self, table: StageTable, *lines: str) -> None:
        """Update the display; the first call makes it."""
        data: dict[str, Any] = {"text/html": table.html(), "text/plain": "\n".join(table.lines())}
        if lines:
            data[STATUS_MIME] = {"lines": list(lines)}
        act = self._handle.update if self._shown else self._handle.display
        act(data, raw=True)
        self._shown = True


class LineProgress:
    """The news as lines on stderr."""

    def show(self, table: StageTable, *lines: str) -> None:
        """Print the news, nothing else."""
        for line in lines:
            print(line, file=sys.stderr, flush=True)


def progress_here() -> Progress:
    """Return what fits the place: a Jupyter kernel can show and update a display, nothing else can."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return KernelProgress() if shell is not None and hasattr(shell, "kernel") else LineProgress()

# SPDX-License-Identifier: Apache-2.0
"""Parameters of the notebooks, checked: unknown names and wrong values are errors, in one line.

papermill only logs a misspelt name, and passes ``true`` as the text "true"; neither may go unnoticed.
"""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field, ValidationError, field_validator

from harness.errors import InputError, RematchError
from harness.model.base import Frozen

#: The first line of a notebook's parameters cell; papermill begins the cell it injects with it too.
MARK = "# Parameters"
ALL = "all"
DEFAULT_SEED = 1
_TRUTH_WORDS = frozenset(("true", "false", "none", "null", "yes", "no"))

M = TypeVar("M", bound="StageParameters")


class StageParameters(Frozen):
    """What every notebook takes: which measurement it is about, and which experiments (joined by commas, or all)."""

    profile: Literal["auto", "smoke", "quick", "full", "sample", "newest"] = "quick"
    host: str = Field(default="local", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = Field(default=DEFAULT_SEED, ge=0)
    experiments: str = Field(default=ALL, pattern=r"^[A-Za-z0-9_-]+(\s*,\s*[A-Za-z0-9_-]+)*$")

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_as_text(cls, value: object) -> object:
        if isinstance(value, str) and value.lower() in _TRUTH_WORDS:
            raise ValueError(f"the text {value!r} is not a value here")
        return value

    @property
    def bundled(self) -> bool:
        """The profile is ``sample``: the data that come with the project, nothing is measured."""
        return self.profile == "sample"

    @property
    def newest(self) -> bool:
        """The profile is ``newest``: of each experiment the newest complete session made here, else the sample."""
        return self.profile == "newest"

    @property
    def names(self) -> tuple[str, ...]:
        """The experiments as they are named; ``all`` among them stands for every one."""
        return tuple(name.strip() for name in self.experiments.split(","))

    def chosen(self, known: tuple[str, ...]) -> tuple[str, ...]:
        """Return the chosen experiments in the order of ``known``. Raises InputError: one of the names is not known."""
        if self.experiments == ALL:
            return known
        for name in self.names:
            if name not in known:
                allowed = ", ".join(known)
                raise InputError("no such experiment", place="experiments", found=name, allowed=allowed)
        return tuple(name for name in known if name in self.names)


class RunAllParameters(StageParameters):
    """Parameters of ``run_all`` and of measuring: the profile says what is measured, so it is never ``newest``.
    ``auto`` is settled before anything is planned (:func:`harness.pipeline.chosen_profile`)."""

    profile: Literal["auto", "smoke", "quick", "full", "sample"] = "auto"


def check_parameters(model: type[M], namespace: Mapping[str, Any], *, any_experiment: bool = False) -> M:
    """Return the parameters that stand in a notebook's namespace, checked; from then on an error that is raised on
    purpose is shown as its line, without a traceback. Raises InputError: an unknown name, a value that is not allowed,
    or an experiment that the notebook does not read.

    Args:
        namespace: ``globals()`` of the notebook; the source of its parameters cells is read from the
            history, so that a misspelt name is found even though it is just another variable.
        any_experiment: the notebook has something to say whichever experiments are named.
    """
    _show_own_errors_in_one_line()
    rows = _parameter_cells(namespace.get("In", ()))
    fields = tuple(model.model_fields)
    for name in _assigned(rows[-1] if rows else []):
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1)
            problem = "unknown parameter" + (f" (did you mean {near[0]}?)" if near else "")
            raise InputError(problem, place="parameters", found=name, allowed=", ".join(fields))
    try:
        checked = model.model_validate({name: namespace[name] for name in fields if name in namespace})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        allowed, place = _allowed(model, name), f"parameter {name}"
        raise InputError("not an allowed value", place=place, found=first["input"], allowed=allowed) from None
    if rows and checked.experiments != ALL and not any_experiment:
        known = str(_assigned(rows[0][:1]).get("experiments") or ALL).split(",")
        strange = [] if known == [ALL] else [name for name in checked.names if name not in known]
        if strange:
            problem = "this notebook reads no such experiment"
            raise InputError(problem, place="experiments", found=strange[0], allowed=", ".join(known))
    return checked


def _parameter_cells(history: object) -> list[list[str]]:
    """Return the unbroken rows of parameters cells (committed, then injected), the oldest row first."""
    rows: list[list[str]] = []
    within = False
    for source in map(str, history if isinstance(history, (list, tuple)) else ()):
        if source.lstrip().startswith(MARK):
            if not within:
                rows.append([])
            rows[-1].append(source)
        within = source.lstrip().startswith(MARK) or (within and not source.strip())
    return rows


def _assigned(cells: Sequence[str]) -> dict[str, object]:
    """Return the names that cells give values to; ``None``: the value is computed."""
    values: dict[str, object] = {}
    for node in (node for source in cells for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            values.setdefault(node.id, None)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            values |= dict.fromkeys(map(ast.unparse, node.targets), node.value.value)
    return values


def _show_own_errors_in_one_line() -> None:
    """In a kernel, show an error that is raised on purpose as its line: the frames above it explain nothing."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        shell.set_custom_exc((RematchError,), _show_line)


def _show_line(
    shell: Any, kind: type[BaseException], error: BaseException, *_: object, **__: object
) -> list[str]:
    line = [f"{kind.__name__}: {error}"]
    shell._showtraceback(kind, error, line)
    return line


def _allowed(model: type[StageParameters], name: str) -> str:
    words = {
        "profile": ", ".join(get_args(model.model_fields["profile"].annotation)),
        "host": "a name of hosts.toml, or local",
        "seed": "a whole number from 0 on",
        "experiments": "names of experiments joined by commas, or all",
    }
    return words.get(name, str(model.model_fields[name].annotation))

# SPDX-License-Identifier: Apache-2.0
"""Parameters of the notebooks, checked: unknown names and wrong values are errors, in one line.

papermill only logs a misspelt name, and passes ``true`` as the text "true"; neither may go unnoticed.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field, ValidationError, field_validator

from harness.errors import InputError
from harness.model.base import Frozen

#: The first line of a notebook's parameters cell; papermill begins the cell it injects with it too.
MARK = "# Parameters"
ALL = "all"
DEFAULT_SEED = 1
_TRUTH_WORDS = frozenset(("true", "false", "none", "null", "yes", "no"))

M = TypeVar("M", bound="Parameters")


class Parameters(Frozen):
    """What every notebook takes: which measurement it is about."""

    profile: Literal["smoke", "quick", "full", "sample", "newest"] = "quick"
    host: str = Field(default="local", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = Field(default=DEFAULT_SEED, ge=0)

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


class StageParameters(Parameters):
    """Parameters of a notebook that works on one or several experiments (names joined by commas, or all)."""

    experiments: str = Field(default=ALL, pattern=r"^[A-Za-z0-9_-]+(\s*,\s*[A-Za-z0-9_-]+)*$")

    def chosen(self, known: tuple[str, ...]) -> tuple[str, ...]:
        """Return the chosen experiments in the order of ``known``.

        Raises:
            InputError: one of the names is not known.
        """
        if self.experiments == ALL:
            return known
        names = [name.strip() for name in self.experiments.split(",")]
        for name in names:
            if name not in known:
                raise InputError(
                    "no such experiment", place="experiments", found=name, allowed=", ".join(known)
                )
        return tuple(name for name in known if name in names)


class RunAllParameters(StageParameters):
    """Parameters of ``run_all`` and of measuring: the profile says what is measured, so it is never ``newest``.

    ``auto`` is settled before anything is planned (:func:`harness.pipeline.chosen_profile`).
    """

    profile: Literal["auto", "smoke", "quick", "full", "sample"] = "auto"


def check_parameters(model: type[M], namespace: Mapping[str, Any]) -> M:
    """Return the parameters that stand in a notebook's namespace, checked.

    Args:
        namespace: ``globals()`` of the notebook; the source of its parameters cells is read from the
            history, so that a misspelt name is found even though it is just another variable.

    Raises:
        InputError: an unknown name, or a value that is not allowed.
    """
    allowed = tuple(model.model_fields)
    for name in _assigned(namespace.get("In", ())):
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(
                "unknown parameter" + hint, place="parameters", found=name, allowed=", ".join(allowed)
            )
    values = {name: namespace[name] for name in allowed if name in namespace}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InputError(
            "not an allowed value",
            place=f"parameter {name}",
            found=first["input"],
            allowed=_allowed(model, name),
        ) from None


def _assigned(history: object) -> list[str]:
    """Return the names assigned in the newest unbroken row of parameters cells (committed, then injected)."""
    cells = [str(cell) for cell in history] if isinstance(history, (list, tuple)) else []
    newest: list[str] = []
    row: list[str] = []
    for source in cells:
        if source.lstrip().startswith(MARK):
            row.append(source)
            newest = list(row)
        elif source.strip():
            row = []
    return [
        node.id
        for source in newest
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _allowed(model: type[Parameters], name: str) -> str:
    words = {
        "profile": ", ".join(get_args(model.model_fields["profile"].annotation)),
        "host": "a name of hosts.toml, or local",
        "seed": "a whole number from 0 on",
        "experiments": "names of experiments joined by commas, or all",
        "experiment": "the name of one experiment",
    }
    return words.get(name, str(model.model_fields[name].annotation))

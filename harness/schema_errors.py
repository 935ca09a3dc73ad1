# SPDX-License-Identifier: Apache-2.0
"""What the validation library says about a file, in one line a person can act on."""

from __future__ import annotations

import difflib
import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from harness.errors import InputError


def describe(
    error: ValidationError, model: type[BaseModel], data: Any, *, file: object, at: str = ""
) -> InputError:
    """Return the first thing wrong, as an ``InputError``; ``at`` goes before the dotted place.

    A misspelt key is both "unknown" and "missing": the unknown one is the one worth saying.
    """
    errors = sorted(error.errors(include_url=False), key=lambda item: item["type"] != "extra_forbidden")
    first = errors[0]
    place, model_here = _locate(model, data, first["loc"])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    where = (at + ".".join(place)).rstrip(": ") or None
    if first["type"] == "extra_forbidden":
        keys = _keys(model_here)
        close = difflib.get_close_matches(place[-1], keys, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return InputError(
            f"unknown key{hint}{more}", file=file, place=where, found=place[-1], allowed=", ".join(keys)
        )
    if first["type"] == "missing":
        allowed = ", ".join(_keys(model_here))
        return InputError(f"missing key{more}", file=file, place=where, allowed=allowed)
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    value = first["input"] if not isinstance(first["input"], dict | list) else None
    return InputError(f"{message}{more}", file=file, place=where, found=value)


def _locate(
    model: type[BaseModel], data: Any, loc: tuple[int | str, ...]
) -> tuple[list[str], type[BaseModel] | None]:
    """Follow ``loc`` through data and types; leave out the steps that only name a branch of a union."""
    place: list[str] = []
    kind: Any = model
    holder: type[BaseModel] | None = model
    for index, step in enumerate(loc):
        models = (part for part in get_args(kind) if _is_model(part))
        branch = next((m for m in models if any(f.default == step for f in m.model_fields.values())), None)
        if branch is not None:  # the table's kind ("closed") is no key of the file
            kind = holder = branch
            continue
        if isinstance(data, dict) and (step in data or index == len(loc) - 1):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:  # a scalar's type ("int") is none either
            continue
        place.append(str(step))
        if _is_model(kind):
            holder, fields = kind, kind.model_fields.items()
            parts = [field.annotation for name, field in fields if str(step) in (name, field.alias)]
        else:
            parts = [part for part in get_args(kind) if part is not Ellipsis]
        kind = _plain(parts[-1]) if parts else None
    return place, holder


def _keys(model: type[BaseModel] | None) -> list[str]:
    fields = {} if model is None else model.model_fields
    return sorted(field.alias or name for name, field in fields.items())


def _plain(annotation: Any) -> Any:
    """Take ``Annotated`` and ``| None`` off."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not types.NoneType]
        return _plain(parts[0]) if len(parts) == 1 else annotation
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)

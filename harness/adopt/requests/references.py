# SPDX-License-Identifier: Apache-2.0
"""References within an OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST = 20


class Unresolved(Exception):
    """Why a part of a document cannot be used."""


def resolved(data: Any, value: Any) -> Any:
    """Follow ``$ref`` within the document ``data``.

    Raises:
        Unresolved: the reference leads out of the document, to nothing, or in a circle.
    """
    for _ in range(_MOST):
        if not isinstance(value, Mapping) or "$ref" not in value:
            return value
        reference = str(value["$ref"])
        if not reference.startswith("#/"):
            raise Unresolved(f"{reference} is in another document")
        value = data
        for written in reference[2:].split("/"):
            part = written.replace("~1", "/").replace("~0", "~")
            if not isinstance(value, Mapping) or part not in value:
                raise Unresolved(f"{reference} is not there")
            value = value[part]
    raise Unresolved("its references go in a circle")

# SPDX-License-Identifier: Apache-2.0
"""Files of load tools that are made from templates."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def template(name: str, *, xml: bool = False, keep_end: bool = True) -> Template:
    """Return ``templates/name``, compiled once a process.

    Args:
        xml: what is filled in is escaped. keep_end: the template's last line end is the file's.
    """
    from jinja2 import Environment, StrictUndefined  # not before a command is made: plans of many need none

    environment = Environment(
        autoescape=xml, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=keep_end
    )
    return environment.from_string(as_it_is(name))


def as_it_is(name: str) -> str:
    """Return ``templates/name``, in which nothing is filled in."""
    return resources.files("harness.loadgen").joinpath("templates", name).read_text(encoding="utf-8")


__all__ = ["as_it_is", "template"]

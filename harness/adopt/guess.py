# SPDX-License-Identifier: Apache-2.0
"""What a folder seems to need to be started, with the reason of each part."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

RuntimeName = Literal["go", "jvm", "native", "other"]
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
#: Said wherever nothing tells how a program takes its port.
BY_VARIABLE = "nothing says how it takes its port; the variable PORT is the usual one"


@dataclass(frozen=True, kw_only=True)
class Guess:
    """The parts of a ``service.toml``. ``why``: part -> what it was concluded from, one sentence each."""

    language: str
    framework: str
    runtime: RuntimeName
    source: Path
    build: tuple[str, ...] = ()
    artifact: str
    start: tuple[str, ...]
    address: str | None = None
    needs: tuple[str, ...] = ()
    schema: tuple[Path, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def because(self, **why: str) -> Guess:
        """Return the guess with these reasons added."""
        return replace(self, why={**self.why, **why})

    def remarked(self, *remarks: str) -> Guess:
        """Return the guess with these remarks added."""
        return replace(self, remarks=(*self.remarks, *remarks))


def started(program: tuple[str, ...], *environment: str, inside: bool = True) -> tuple[str, ...]:
    """Return the whole start command: ``env`` with ``NAME=value`` of each before the program.

    ``inside``: with the artifact as the working directory.
    """
    before = (*(("-C", "{artifact}") if inside else ()), *environment)
    return (("env", *before) if before else ()) + program


def parts_of(start: tuple[str, ...]) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """Return what ``started`` made a command of: whether it is inside, what is set, and the program."""
    words = start[1:] if start[:1] == ("env",) else start
    inside = words[:1] == ("-C",)
    words = words[2:] if inside else words
    n = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return inside, words[:n], words[n:]


def service_name(text: str) -> str:
    """Return a name for files and folders.

    >>> service_name("My Service_2"), service_name("--")
    ('my-service-2', 'service')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "service"

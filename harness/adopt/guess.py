# SPDX-License-Identifier: Apache-2.0
"""What a folder seems to need to be started, with the reason of each part."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

RuntimeName = Literal["go", "jvm", "native", "other"]


@dataclass(frozen=True, kw_only=True)
class Port:
    """How a program is told its address.

    ``words``: at the end of its command; ``environment``: before it, each ``NAME=value``; ``why``: what was seen.
    """

    words: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    why: str


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
    needs: tuple[str, ...] = ()
    schema: tuple[Path, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def because(self, **why: str) -> Guess:
        """Return the guess with these reasons added."""
        return replace(self, why={**self.why, **why})


def started(
    program: tuple[str, ...], port: Port, *, inside: bool, environment: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the whole start command. ``inside``: with the artifact as the working directory."""
    before = (*(("-C", "{artifact}") if inside else ()), *environment, *port.environment)
    return ((("env", *before) if before else ()) + program) + port.words


def service_name(text: str) -> str:
    """Return a name for files and folders.

    >>> service_name("My Service_2"), service_name("--")
    ('my-service-2', 'service')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "service"

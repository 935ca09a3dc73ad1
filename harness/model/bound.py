# SPDX-License-Identifier: Apache-2.0
"""What bounded a trial: who had no more to give while its load ran."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from harness.model.base import Frozen

BoundBy = Literal["service", "generator", "backing", "machine", "offered", "unknown"]

#: After "bound by".
BOUND_WORDS: Mapping[BoundBy, str] = MappingProxyType(
    {
        "service": "the service",
        "generator": "the generator",
        "backing": "the database or upstream",
        "machine": "the machine",
        "offered": "the offered rate",
        "unknown": "nothing that was recorded",
    }
)


class Bound(Frozen):
    """What bounded one trial, with the shares that it rests on. ``None``: not known, or there is no such part."""

    by: BoundBy
    why: str = Field(description="in words, with the numbers that decided")
    service_share: float | None = Field(description="CPU time over what the CPUs it may use can give")
    generator_share: float | None = Field(description="likewise, of all generators together")
    backing_share: float | None = Field(description="likewise, of database and upstream together")
    machine_share: float | None = Field(
        description="of the service's machine: CPU time that other processes or the hypervisor took"
    )

# SPDX-License-Identifier: Apache-2.0
"""Backing services: what an implementation may need beside itself, and how it is set up."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.model.base import Frozen

BackingName = Literal["postgresql", "upstream"]
SettingValue = str | int | float | bool


class BackingSettings(Frozen):
    """How the backing services of a trial are set up: ``[backing]`` of an experiment, or of a factor's level."""

    max_connections: int = Field(
        default=100, ge=5, le=20_000,
        description="as a stock server with this number: three of them are kept for the superuser",
    )  # fmt: skip
    storage: Literal["disk", "memory"] = "disk"
    index: bool = Field(default=False, description="contract/index.sql is applied after contract/schema.sql")
    seed: str | None = Field(
        default=None, pattern=r"^[a-z0-9][a-z0-9-]*$", description="contract/seed-<name>.sql is applied last"
    )
    wiped: bool = Field(
        default=True, description="fresh for each trial; else it lives on through the session"
    )
    fsync: bool = Field(default=True, description="off: a commit does not wait for the disk")
    authentication: Literal["scram-sha-256", "md5"] = Field(
        default="scram-sha-256",
        description="what a new connection costs its client: 4,096 rounds of hashing, or two",
    )
    upstream: dict[str, SettingValue] = Field(
        default_factory=dict, description="settings of the upstream API, as its service.toml names them"
    )

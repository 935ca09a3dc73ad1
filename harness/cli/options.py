# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Launcher = Annotated[
    str | None,
    typer.Option(
        help="how services are started: process, container (docker) or kubernetes; "
        "default: as the experiment says, else process"
    ),
]

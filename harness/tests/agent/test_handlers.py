# SPDX-License-Identifier: Apache-2.0
"""What an agent answers while it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.agent.server import Handlers
from harness.errors import HostError


def test_a_sampler_that_an_ending_agent_has_ended_is_said_to_be_gone(tmp_path: Path) -> None:
    agent = Handlers(tmp_path, 0.0)
    files: dict[str, Any] = {
        "samples": str(tmp_path / "samples"),
        "machine": str(tmp_path / "machine"),
        "hz": 10.0,
    }
    number = agent.carry_out("sampler_start", files)["sampler"]
    agent.end_all()
    late: tuple[tuple[str, dict[str, Any]], ...] = (
        ("sampler_stop", {"sampler": number}),
        ("sampler_add", {"sampler": number, "role": "service", "watched": {}}),
        ("sampler_pace", {"sampler": number, "hz": 20.0}),
        ("sampler_start", files),
    )
    for what, told in late:
        with pytest.raises(HostError, match="^the agent is ending"):
            agent.carry_out(what, told)

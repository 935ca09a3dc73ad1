# SPDX-License-Identifier: Apache-2.0
"""What a machine says of itself: the settings of its kernel that change what a request costs."""

from __future__ import annotations

from pathlib import Path

from harness.agent.machine_info import SETTINGS, kernel_settings, machine_facts
from harness.model.session import Machine


def test_settings_are_told_as_the_kernel_has_them_and_left_out_where_it_has_none(tmp_path: Path) -> None:
    said = {"sched_autogroup": "0\n", "transparent_hugepage": "always [madvise] never\n"}
    for name, text in said.items():
        file = tmp_path / SETTINGS[name]
        file.parent.mkdir(parents=True)
        file.write_text(text)
    assert kernel_settings(tmp_path) == {"sched_autogroup": "0", "transparent_hugepage": "madvise"}
    assert kernel_settings(tmp_path / "nothing") == {}


def test_this_machine_is_told_with_its_settings() -> None:
    machine = Machine.model_validate(machine_facts())
    assert machine.settings == kernel_settings()

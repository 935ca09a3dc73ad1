# SPDX-License-Identifier: Apache-2.0
"""What JVMs have accepted is kept; what they refuse is asked again, and so is a JVM that was replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.hosts.local import LocalHost
from harness.launchers.runtimes import FILE, AcceptedFlags, Runtimes
from harness.launchers.tools import Tools


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A program that takes any flag but ``-XX:+Odd``, and notes that it was asked."""
    program = tmp_path / "java"
    program.write_text(
        f'#!/bin/sh\necho asked >> {tmp_path}/asked\ncase "$*" in *Odd*) echo no such flag; exit 1;; esac\n'
    )
    program.chmod(0o755)
    return program


def asks(java: Path, root: Path, *flags: str) -> tuple[str | None, int]:
    """The answer of a command that begins now, and how often the program has been asked by then."""
    host = LocalHost()
    runtimes = Runtimes(host, Tools(), None, AcceptedFlags(root))
    said = runtimes.refused(host, java, flags)
    return said, (java.parent / "asked").read_text().count("asked")


def test_an_accepted_flag_is_asked_of_a_jvm_once(java: Path, tmp_path: Path) -> None:
    assert asks(java, tmp_path, "-XX:+UseG1GC") == (None, 1)
    assert asks(java, tmp_path, "-XX:+UseG1GC") == (None, 1)
    assert asks(java, tmp_path, "-XX:+UseSerialGC") == (None, 2)


def test_a_refusal_is_never_kept(java: Path, tmp_path: Path) -> None:
    for n in (1, 2):
        said, asked = asks(java, tmp_path, "-XX:+Odd")
        assert "no such flag" in (said or "")
        assert asked == n


def test_a_jvm_that_was_replaced_is_asked_anew(java: Path, tmp_path: Path) -> None:
    asks(java, tmp_path, "-Xmx1g")
    java.write_text(java.read_text() + "# another release\n")
    assert asks(java, tmp_path, "-Xmx1g") == (None, 2)


def test_a_damaged_file_only_costs_time(java: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text("{")
    assert asks(java, tmp_path, "-Xmx1g") == (None, 1)
    assert asks(java, tmp_path, "-Xmx1g") == (None, 1)

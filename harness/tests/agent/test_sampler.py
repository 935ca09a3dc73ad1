# SPDX-License-Identifier: Apache-2.0
"""Samplers whose ticks are taken in the interpreter, and natively: one contract. And which of them is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agent.processes import look_through, read_stat
from harness.agent.sampler import PythonTicks
from harness.hosts.local import LocalHost
from harness.sampling import native_ticks, tick_source_here
from harness.sampling.native_ticks import NativeTicks
from harness.sampling.portable import PortableTicks, PsutilProcesses
from harness.tests.contracts.sampler import SamplerContract
from harness.tests.contracts.tick_source import TickSourceContract
from harness.tests.support.available import program_or_not_run
from harness.toolchains import GLANCES
from setup.source_builds import build_native


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_native("glances", tmp_path_factory.mktemp("tools"), program_or_not_run("cc"))


class Interpreter:
    @pytest.fixture
    def glancer(self) -> PythonTicks:
        return PythonTicks()


class Native:
    @pytest.fixture
    def glancer(self, library: Path) -> PythonTicks:
        return NativeTicks(library)


class Portable:
    """What takes them where there is no /proc, forced here."""

    cpu_step_s = 0.01

    @pytest.fixture
    def glancer(self) -> PythonTicks:
        return PortableTicks()

    @pytest.fixture(autouse=True)
    def processes(self) -> Iterator[None]:
        before = read_stat.__globals__["_table"]
        look_through(PsutilProcesses())
        yield
        look_through(before)


class TestTicksInTheInterpreter(Interpreter, TickSourceContract):
    pass


class TestNativeTicks(Native, TickSourceContract):
    pass


class TestPortableTicks(Portable, TickSourceContract):
    pass


class TestSamplerWithPortableTicks(Portable, SamplerContract):
    pass


class TestSamplerWithTicksInTheInterpreter(Interpreter, SamplerContract):
    pass


class TestSamplerWithNativeTicks(Native, SamplerContract):
    pass


def ticks_by(folder: Path) -> str:
    """Who takes the ticks of a sampler on this machine."""
    return LocalHost().sampler(folder / "samples.csv", folder / "machine.csv", 20.0).stop().ticks_by


def test_where_there_is_a_compiler_set_up_has_built_the_library_and_it_takes_the_ticks(
    tmp_path: Path,
) -> None:
    program_or_not_run("cc")
    _, why_not = tick_source_here()
    assert (ticks_by(tmp_path), why_not) == ("native", None)


def test_what_was_built_of_another_source_is_not_loaded(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools, source = library.parent.parent, tmp_path / "glances.c"
    monkeypatch.setattr(native_ticks, "_TOOLS", tools)
    assert ticks_by(tmp_path) == "native"
    source.write_text(GLANCES.source.read_text() + "\n")
    assert GLANCES.built(tools, source) != library
    monkeypatch.setattr(native_ticks, "GLANCES", replace(GLANCES, source=source))
    assert ticks_by(tmp_path) == "interpreter"
    _, why_not = tick_source_here()
    assert why_not is not None and "make setup" in why_not


def test_a_library_that_is_none_is_said_and_the_interpreter_takes_the_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_ticks, "_TOOLS", tmp_path)
    library = GLANCES.built(tmp_path)
    library.parent.mkdir()
    library.write_bytes(b"of another machine")
    glancer, why_not = tick_source_here()
    assert glancer.name == ticks_by(tmp_path) == "interpreter"
    assert why_not is not None and str(library) in why_not

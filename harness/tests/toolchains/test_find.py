# SPDX-License-Identifier: Apache-2.0
"""Finders of tools, on made-up machines."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from harness import toolchains
from harness.errors import MissingTool
from harness.tests.support.fake_machine import around, go, jdk, program

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def machine(tmp_path: Path) -> toolchains.Surroundings:
    """A machine with nothing on it (but the shell's own programs, for the made-up ones to run)."""
    return around(tmp_path)


def test_a_machine_without_java_is_told_why_and_the_command(machine: toolchains.Surroundings) -> None:
    tool = toolchains.find_jdk(machine)
    assert (tool.state, tool.path, tool.version) == ("missing", None, None)
    with pytest.raises(
        MissingTool, match=r"jdk >= 21 is missing: .*Java services.*install it with: make setup"
    ):
        tool.require()


def test_a_runtime_without_compiler_is_no_jdk_also_one_that_set_up_unpacked(tmp_path: Path) -> None:
    jdk(tmp_path / "system/usr/lib/jvm/jre-25", "25.0.2", compiler=False)
    home = jdk(tmp_path / "project/.tools/java-11.0.7", "11.0.7", "Azul", compiler=False)
    (tmp_path / "project/.tools/java-11.0.9.new").mkdir()
    assert toolchains.find_jdks(around(tmp_path)) == ()
    (runtime,) = toolchains.find_runtimes(around(tmp_path))
    assert (runtime.home, runtime.version, runtime.major, runtime.java) == (
        home,
        "11.0.7",
        11,
        home / "bin/java",
    )


def test_the_users_word_comes_first_then_the_reference_jdk_and_an_old_one_last(tmp_path: Path) -> None:
    for version in ("17.0.15", "21.0.8", "25.0.2", "26", "11.0.1"):
        jdk(tmp_path / "system/usr/lib/jvm" / version, version)

    def majors(**environ: str) -> list[int]:
        return [kit.major for kit in toolchains.find_jdks(around(tmp_path, **environ))]

    assert majors() == [25, 26, 21, 17, 11] and toolchains.find_jdk(around(tmp_path)).usable
    new, old = jdk(tmp_path / "a", "22.0.1"), jdk(tmp_path / "b", "17.0.1")
    assert majors(JAVA_HOME=str(new))[0] == 22 and majors(JAVA_HOME=str(old))[0] == 25, "unless it is too old"
    jdk(tmp_path / "conda/lib/jvm", "24.0.1")
    assert majors(CONDA_PREFIX=str(tmp_path / "conda"))[0] == 24


def test_an_old_jdk_is_said_to_be_too_old(tmp_path: Path) -> None:
    old = jdk(tmp_path / "old/system/usr/lib/jvm/17", "17.0.15")
    tool = toolchains.find_jdk(around(tmp_path / "old"))
    assert tool.state == "too old" and f"found 17.0.15 (Somebody) at {old}" in tool.complaint()


def test_an_old_go_on_path_does_not_hide_a_new_one_elsewhere(tmp_path: Path) -> None:
    old = go(tmp_path / "bin/go", "1.19.8")
    tool = toolchains.find_go(around(tmp_path, old.parent))
    assert (tool.state, tool.version, tool.path) == ("too old", "1.19.8", old)
    new = go(tmp_path / "project/.tools/go-1.26.6/go/bin/go", "1.26.6")
    tool = toolchains.find_go(around(tmp_path, old.parent))
    assert (tool.state, tool.version, tool.path) == ("ok", "1.26.6", new)
    assert toolchains.parse_version("1.24rc1") >= toolchains.parse_version("1.9.7"), "ten is more than nine"


def test_maven_is_started_with_the_preferred_jdk(tmp_path: Path) -> None:
    home = jdk(tmp_path / "system/usr/lib/jvm/25", "25.0.2")
    maven = tmp_path / "bin/mvn"
    program(maven)
    maven.write_text(
        f'#!/bin/sh\n[ "$JAVA_HOME" = {home} ] && echo "Apache Maven 3.9.9 (x)"\n', encoding="utf-8"
    )
    tool = toolchains.find_tool("maven", around(tmp_path, maven.parent))
    assert (tool.state, tool.version) == ("ok", "3.9.9")


def test_postgresql_is_found_where_debian_puts_it_the_newest_with_initdb_first(tmp_path: Path) -> None:
    for version in ("9.6", "15", "16"):
        folder = tmp_path / "system/usr/lib/postgresql" / version / "bin"
        program(folder / "postgres", f"postgres (PostgreSQL) {version}.4 (Debian)")
        if version != "16":
            program(folder / "initdb")
    tool = toolchains.find_tool("postgres", around(tmp_path))
    assert (tool.state, tool.version) == ("ok", "15.4")
    assert tool.path == tmp_path / "system/usr/lib/postgresql/15/bin/postgres"


def test_latex_without_a_class_of_the_paper_is_incomplete_and_names_it(tmp_path: Path) -> None:
    for name in ("latexmk", "pdflatex"):
        program(tmp_path / "bin" / name, "Latexmk, Version 4.79")
    program(tmp_path / "bin/kpsewhich", "\n".join(f"/t/{name}" for name in toolchains.LATEX_FILES[1:]))
    tool = toolchains.find_latex(around(tmp_path, tmp_path / "bin"))
    assert (tool.state, tool.version) == ("incomplete", f"without {toolchains.LATEX_FILES[0]}")


def test_every_tool_names_its_reason_and_one_command_on_debian_in_conda_and_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "conda/bin").mkdir(parents=True)
    elsewhere, conda = around(tmp_path), around(tmp_path, CONDA_PREFIX=str(tmp_path / "conda"))
    program(tmp_path / "debian/system/usr/bin/apt-get")
    debian = around(tmp_path / "debian")
    for place in (elsewhere, conda, debian):
        for tool in toolchains.find_all(place):
            assert tool.why.startswith(("to ", "as "))
            assert tool.how_to_get and "\n" not in tool.how_to_get
    ways = [toolchains.find_tool("maven", place).how_to_get for place in (debian, conda, elsewhere)]
    assert ways[0].endswith("apt-get install -y maven") and ways[1].startswith("conda env update")
    assert ways[2].startswith("conda env create --file environment.yml")


WRK = "wrk 4.1.0 [epoll]\nUsage: wrk <options> <url>\n    -d, --duration    <T>  Duration of test"
WRK2 = WRK.replace("4.1.0", "4.0.0") + "\n    -R, --rate        <T>  work rate (throughput)\n"


@pytest.mark.parametrize(("text", "found"), [(WRK, {"wrk": "4.1.0"}), (WRK2, {"wrk2": "4.0.0"})])
def test_a_wrk_that_knows_a_rate_is_wrk2(tmp_path: Path, text: str, found: dict[str, str]) -> None:
    program(tmp_path / "bin/wrk", text, status=1)
    tools = [toolchains.find_tool(name, around(tmp_path, tmp_path / "bin")) for name in ("wrk", "wrk2")]
    assert {tool.name: tool.version for tool in tools if tool.usable} == found


@pytest.mark.parametrize("name", ["k6", "oha", "vegeta", "wrk2"])
def test_a_generator_that_set_up_built_comes_before_another_on_path(tmp_path: Path, name: str) -> None:
    rate = WRK2.partition("\n")[2] if name == "wrk2" else ""  # by which it is told from wrk
    other = program(tmp_path / "bin" / name, f"{name} 1.99.9\n{rate}")
    tool = toolchains.find_tool(name, around(tmp_path, other.parent))
    assert (tool.path, tool.version) == (other, "1.99.9")
    pinned = toolchains.wanted(name).pinned
    own = program(
        tmp_path / f"project/.tools/{name}-{pinned}/bin/{name}", f"{name} v{pinned} (go1.26)\n{rate}"
    )
    tool = toolchains.find_tool(name, around(tmp_path, other.parent))
    assert (tool.path, tool.version, tool.state) == (own, pinned, "ok")


def test_two_mavens_of_a_project_wait_for_each_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from harness.toolchains import one_maven\n"
        "with one_maven(Path(sys.argv[1])): print('inside', flush=True); input()"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(
        words, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "inside\n"
        with (tmp_path / ".cache/builds/maven.lock").open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        first.kill()
    with toolchains.one_maven(tmp_path):
        pass

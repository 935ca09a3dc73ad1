# SPDX-License-Identifier: Apache-2.0
"""Set-up: wrk2 is built where its source is at hand, and nothing stops where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import toolchains
from harness.tests.support.fake_machine import machine_to_set_up, program
from setup import __main__ as setup_main
from setup import wrk2
from setup.say import SetupError

SAYS = "wrk 4.0.0 [epoll]\n    -R, --rate        <T>  work rate (throughput)"


def source(folder: Path) -> Path:
    """A folder as wrk2's, whose Makefile writes a program that speaks as wrk2 does, and what it was given."""
    (folder / "deps/luajit").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src/wrk.c").write_text("int main(void) { return 0; }\n")
    program(folder / "says", SAYS, status=1)
    lines = (
        "all:",
        '\t@echo "flags <$(MAKEFLAGS)> cc <$(CC)>" > told',
        "\t@cp says wrk && cat told >> wrk",
        "clean:",
        "\t@rm -f wrk told",
    )
    (folder / "Makefile").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> toolchains.Surroundings:
    """A machine with make and a compiler that finds every header, without wrk2 and without git."""
    folder = program(tmp_path / "bin/cc").parent
    for name in ("make", "cat", "cp", "rm", "sh", "mkdir"):
        here = next(path for path in (Path("/usr/bin") / name, Path("/bin") / name) if path.exists())
        (folder / name).symlink_to(here)
    return machine_to_set_up(tmp_path, monkeypatch, str(folder))


def test_wrk2_is_built_from_the_folder_that_is_named_which_stays_as_it_was(
    tmp_path: Path, place: toolchains.Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = source(tmp_path / "given")
    before = sorted(folder.rglob("*"))
    monkeypatch.setenv(wrk2.SOURCE, str(folder))
    monkeypatch.setenv("MAKEFLAGS", "-n")
    setup_main.bring((), ("wrk2",), place)
    found = toolchains.find_tool("wrk2", place)
    assert found.path == place.tools / f"wrk2-{toolchains.WRK2_VERSION}/bin/wrk2"
    assert found.version == wrk2.UNREPAIRED_VERSION  # this source has nothing to repair
    assert f"cc <{tmp_path / 'bin/cc'}>" in found.path.read_text()
    assert sorted(folder.rglob("*")) == before
    assert not list(place.tools.glob("*.new"))


@pytest.mark.parametrize(
    ("loop", "repaired"),
    [
        (f"    {wrk2.FAULTY}\n", True),
        (f"    {wrk2.REPAIRED}\n", False),
        (f"    {wrk2.FAULTY}\n    {wrk2.FAULTY}\n", False),
    ],
    ids=["as it is", "repaired already", "another source"],
)
def test_its_timers_are_repaired_and_its_version_says_so(tmp_path: Path, loop: str, repaired: bool) -> None:
    folder = source(tmp_path / "given")
    header = f'#define VERSION  "{wrk2.UNREPAIRED_VERSION}"\n'
    (folder / "src/ae.c").write_text(loop)
    (folder / "src/wrk.h").write_text(header)
    wrk2.repair(folder)
    found = ((folder / "src/ae.c").read_text(), (folder / "src/wrk.h").read_text())
    if repaired:
        assert found == (f"    {wrk2.REPAIRED}\n", f'#define VERSION  "{toolchains.WRK2_VERSION}"\n')
    else:
        assert found == (loop, header)


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("source", "no source and no git to fetch it; make generators WRK2_SOURCE=FOLDER"),
        ("files", "has no src/wrk.c and deps/luajit"),
        ("headers", "the headers of OpenSSL are missing (Debian: libssl-dev): fatal error: no ssl.h"),
        ("make", "make is missing"),
        ("sense", "it does not build: wrk.c:1: error: no sense"),
    ],
)
def test_where_wrk2_cannot_be_built_one_line_says_why_and_nothing_stops(
    tmp_path: Path,
    place: toolchains.Surroundings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lacking: str,
    says: str,
) -> None:
    folder = source(tmp_path / "given")
    if lacking != "source":
        monkeypatch.setenv(wrk2.SOURCE, str(folder))
    if lacking == "files":
        (folder / "src/wrk.c").unlink()
    if lacking == "headers":
        (tmp_path / "bin/cc").write_text("#!/bin/sh\necho 'fatal error: no ssl.h' >&2\nexit 1\n")
    if lacking == "make":
        (tmp_path / "bin/make").unlink()
    if lacking == "sense":
        broken = "all:\n\t@echo warning >&2; echo 'wrk.c:1: error: no sense' >&2; exit 1\nclean:\n"
        (folder / "Makefile").write_text(broken)
    setup_main.bring((), ("wrk2",), place)
    said = capsys.readouterr()
    (line,) = [line for line in said.out.splitlines() if "wrk2: unavailable: " in line]
    assert says in line
    assert not said.err
    assert not toolchains.find_tool("wrk2", place).usable


def test_without_a_folder_the_pinned_commit_is_fetched_and_held_against_its_name(
    tmp_path: Path, place: toolchains.Surroundings
) -> None:
    git = tmp_path / "bin/git"
    git.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n')
    git.chmod(0o755)
    with pytest.raises(SetupError, match="its source cannot be cleaned"):  # this git brings nothing
        wrk2.build_wrk2(tmp_path / "project", tmp_path / "bin/cc", {"PATH": str(tmp_path / "bin")})
    asked = (tmp_path / "asked").read_text()
    assert f"fetch --quiet --depth 1 {wrk2.REPOSITORY} {wrk2.COMMIT}\n" in asked
    git.write_text("#!/bin/sh\necho 'fatal: unable to access' >&2\nexit 128\n")
    with pytest.raises(SetupError, match=r"git cannot fetch its source; .*: fatal: unable to access"):
        wrk2.build_wrk2(tmp_path / "project", tmp_path / "bin/cc", {"PATH": str(tmp_path / "bin")})

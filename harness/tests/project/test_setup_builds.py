# SPDX-License-Identifier: Apache-2.0
"""Set-up: what it builds from source, load generators and the sampler's library."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import toolchains
from harness.tests.support.fake_machine import around, machine_to_set_up, program
from setup import __main__ as setup_main
from setup import source_builds

PROJECT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", source_builds.GO_PROGRAMS)
def test_a_generator_in_go_is_the_version_that_its_module_file_names_with_hashes(name: str) -> None:
    row, folder = source_builds.GO_PROGRAMS[name], PROJECT / source_builds.go_module(name)
    assert row.version == toolchains.wanted(name).pinned
    assert f"require {row.package} v{row.version}\n" in (folder / "go.mod").read_text(encoding="utf-8")
    assert f"{row.package} v{row.version} h1:" in (folder / "go.sum").read_text(encoding="utf-8")
    assert f'import _ "{row.package}"' in (folder / "tools.go").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", source_builds.GO_PROGRAMS)
def test_a_generator_in_go_is_built_into_the_tools_of_the_project_with_the_hashes_held_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    version = source_builds.GO_PROGRAMS[name].version
    (tmp_path / "project" / source_builds.go_module(name)).mkdir(parents=True)
    go = program(tmp_path / "bin/go")
    go.write_text(
        '#!/bin/sh\n[ "$1" = version ] && echo go version go1.26.6 linux/amd64 && exit 0\n'
        f'echo "$GOFLAGS" > {tmp_path}/flags; mkdir -p "$(dirname "$3")"\n'
        f'printf "#!/bin/sh\necho {name} v{version}\n" > "$3"; chmod +x "$3"\n'
    )
    place = machine_to_set_up(tmp_path, monkeypatch, str(go.parent), "/usr/bin", "/bin")
    setup_main.bring((name,), (), place)
    assert toolchains.find_tool(name, place).path == (
        tmp_path / "project" / f".tools/{name}-{version}/bin/{name}"
    )
    assert "-mod=readonly" in (tmp_path / "flags").read_text()
    assert not list((tmp_path / "project/.tools").glob("*.new"))


def test_the_load_generator_is_built_by_the_compiler_that_is_found_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f'echo "$*" >> {tmp_path}/calls; while [ "$1" != -o ]; do shift; done; echo made > "$2"'
    cc = program(tmp_path / "bin/cc")
    cc.write_text(f"#!/bin/sh\n{script}\n")
    (cc.parent / "mkdir").symlink_to("/bin/mkdir")
    place = machine_to_set_up(tmp_path, monkeypatch, str(cc.parent))
    setup_main.bring((), ("cc", "metronome"), place)
    setup_main.bring((), ("cc", "metronome"), place)
    assert toolchains.find_tool("metronome", place).path == toolchains.METRONOME.built(place.tools)
    built = [line for line in (tmp_path / "calls").read_text().splitlines() if "-o" in line.split()]
    assert len(built) == 1
    assert "-Werror" in built[0].split() and str(toolchains.METRONOME.source) in built[0].split()
    assert not list(place.tools.glob("*.new"))


def test_a_program_of_another_source_does_not_stand_for_this_one(tmp_path: Path) -> None:
    place = around(tmp_path)
    source = tmp_path / "metronome.c"
    source.write_bytes(toolchains.METRONOME.source.read_bytes() + b"// changed\n")
    program(toolchains.METRONOME.built(place.tools, source))
    assert toolchains.find_tool("metronome", place).state == "missing"
    program(toolchains.METRONOME.built(place.tools))
    assert toolchains.find_tool("metronome", place).usable

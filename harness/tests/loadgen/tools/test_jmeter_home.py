# SPDX-License-Identifier: Apache-2.0
"""JMeter in `.tools`: laid out, compared with its list, repaired."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harness import toolchains
from harness.agent.files import file_sha256
from setup import jmeter, say

FILES = {
    "bin/ApacheJMeter.jar", "bin/jmeter.properties", "lib/ApacheJMeter_config-5.6.3.jar",
    "lib/ext/ApacheJMeter_http-5.6.3.jar", "lib/groovy-3.0.20.jar",
}  # fmt: skip


def fake_jars(folder: Path) -> None:
    for name in ("ApacheJMeter-5.6.3.jar", "ApacheJMeter_http-5.6.3.jar", "groovy-3.0.20.jar"):
        (folder / name).write_bytes(name.encode())
    with zipfile.ZipFile(folder / "ApacheJMeter_config-5.6.3.jar", "w") as archive:
        archive.writestr(zipfile.ZipInfo("bin/jmeter.properties"), "a=b\n")
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "x\n")


@pytest.fixture
def jmeter_project(tmp_path: Path) -> Path:
    """A project whose list describes a JMeter of five files, not assembled yet."""
    project = tmp_path / "project"
    (project / toolchains.MANIFEST).parent.mkdir(parents=True)
    home = toolchains.jmeter_home(project)
    jmeter.assemble(home, fake_jars)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.relative_to(home).as_posix() for path in files} == FILES
    lines = [f"{file_sha256(path)}\t{path.stat().st_size}\t{path.relative_to(home)}\n" for path in files]
    (project / toolchains.MANIFEST).write_text("".join(lines))
    shutil.rmtree(home)
    return project


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda home: (home / "lib/groovy-3.0.20.jar").unlink(), "lib/groovy-3.0.20.jar"),
        (
            lambda home: (home / "lib/groovy-3.0.20.jar").write_bytes(b"groovy-3.0.21.jar"),
            "lib/groovy-3.0.20.jar",
        ),
        (lambda home: (home / "lib/evil.jar").write_text("x"), "lib/evil.jar"),
    ],
)
def test_a_damaged_jmeter_is_seen_and_repaired(jmeter_project: Path, harm: Any, said: str) -> None:
    jmeter.ensure_jmeter(jmeter_project, fake_jars)
    harm(toolchains.jmeter_home(jmeter_project))
    tool = toolchains.find_jmeter(toolchains.Surroundings(project=jmeter_project))
    assert tool.state == "damaged"
    assert tool.version == f"1 files differ, first {said}"
    assert jmeter.ensure_jmeter(jmeter_project, fake_jars)
    assert not jmeter.ensure_jmeter(jmeter_project, fake_jars), "all is well"
    assert toolchains.find_jmeter(toolchains.Surroundings(project=jmeter_project)).usable


def test_jars_that_are_not_the_listed_ones_never_become_the_jmeter_in_use(jmeter_project: Path) -> None:
    def other(folder: Path) -> None:
        fake_jars(folder)
        (folder / "groovy-3.0.20.jar").write_bytes(b"another")

    with pytest.raises(say.SetupError, match=r"differs from .*manifest\.tsv in 1 files.*groovy"):
        jmeter.ensure_jmeter(jmeter_project, other)
    assert not toolchains.jmeter_home(jmeter_project).exists()

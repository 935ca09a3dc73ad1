# SPDX-License-Identifier: Apache-2.0
"""Files that say the same thing in several places agree with each other."""

from __future__ import annotations

import hashlib
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from rattler import MatchSpec

from harness import toolchains

PROJECT = Path(__file__).resolve().parents[3]


def pyproject() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))


def conda_specs() -> tuple[list[str], list[str]]:
    """The lines for conda, and the lines for pip."""
    made = yaml.safe_load((PROJECT / "environment.yml").read_text(encoding="utf-8"))
    lines = made["dependencies"]
    pip = [line["pip"] for line in lines if isinstance(line, dict)]
    return [line for line in lines if isinstance(line, str)], pip[0]


def used() -> list[str]:
    """What the project itself imports."""
    extras = pyproject()["project"]["optional-dependencies"]
    return [*pyproject()["project"]["dependencies"], *extras["notebooks"], *extras["measure"]]


#: conda-forge's name where it differs from the Python index's.
CONDA_NAMES = {"docker": "docker-py", "matplotlib": "matplotlib-base", "seaborn": "seaborn-base"}

#: What conda-forge does not have: pip brings it with the project.
NOT_BY_CONDA = {"MLRsearch"}


def test_every_line_for_conda_is_a_strict_spec_and_pip_installs_this_project() -> None:
    specs, pip = conda_specs()
    for line in specs:
        assert MatchSpec(line, strict=True).name is not None, line
    assert pip == ["-e .[notebooks,measure]"]


def test_conda_asks_for_the_same_packages_and_bounds_as_pyproject() -> None:
    specs, _ = conda_specs()
    bounds = {str(MatchSpec(line).name.normalized): str(MatchSpec(line).version or "") for line in specs}
    requirements = [item for item in map(Requirement, used()) if item.name not in NOT_BY_CONDA]
    for requirement in requirements:
        name = CONDA_NAMES.get(requirement.name, requirement.name)
        assert SpecifierSet(bounds[name]) == requirement.specifier, name
    known = {CONDA_NAMES.get(r.name, r.name) for r in requirements}
    tools = {
        "python", "pip", "git", "make", "openjdk", "maven", "go", "postgresql", "texlive-core", "tectonic", "poppler",
        "wrk",
    }  # fmt: skip
    assert set(bounds) == known | tools
    assert bounds["python"] == pyproject()["project"]["requires-python"]
    assert bounds["go"] == f">={toolchains.wanted('go').minimum}"
    assert bounds["openjdk"] == f">={toolchains.JAVA_MINIMUM}"
    assert bounds["maven"] == f">={toolchains.wanted('maven').minimum}"


def test_the_lock_satisfies_every_requirement_and_pins_each_by_hash() -> None:
    project = pyproject()["project"]
    lock = (PROJECT / "requirements.lock").read_text(encoding="utf-8")
    blocks = [
        block
        for block in lock.replace("\\\n", " ").splitlines()
        if block and not block.lstrip().startswith("#")
    ]
    pinned: dict[str, list[Requirement]] = {}
    for block in blocks:
        requirement = Requirement(block.split("--hash", maxsplit=1)[0].strip())
        pinned.setdefault(canonicalize_name(requirement.name), []).append(requirement)
        assert "--hash=sha256:" in block, requirement
    extras = project["optional-dependencies"]
    for line in (*used(), *extras["test"], *extras["database"]):
        asked = Requirement(line)
        versions = [next(iter(r.specifier)).version for r in pinned[canonicalize_name(asked.name)]]
        assert all(asked.specifier.contains(version) for version in versions), line


HOSTS = (
    "pypi" + ".org",
    "files.python" + "hosted",
    "maven" + ".org",
    "proxy.golang" + ".org",
    "deb.debian" + ".org",
)


def test_no_file_of_set_up_names_a_registrys_host_or_a_folder_of_one_machine() -> None:
    files = [file for file in (PROJECT / "setup").rglob("*") if file.suffix in (".py", ".sh", ".txt", ".xml")]
    files += [
        PROJECT / name
        for name in ("Makefile", "environment.yml", "pyproject.toml", "requirements.lock", ".ci/run")
    ]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not [host for host in (*HOSTS, "/root/", "/home/") if host in text], file


def test_the_citation_names_the_version_and_licences_of_the_package() -> None:
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert cited["version"] == pyproject()["project"]["version"]
    assert " AND ".join(cited["license"]) == pyproject()["project"]["license"]


def test_parameters_of_make_reach_papermill() -> None:
    words = ["make", "-n", "paper", "PROFILE=smoke", "SEED=7", "EXPERIMENTS=a,b"]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert '-p profile smoke -p seed 7 -p experiments "a,b"' in " ".join(done.stdout.split())


def test_the_list_of_jmeter_is_unchanged_by_accident() -> None:
    """Whoever changes JMeter's files changes this line too: results before and after are not comparable."""
    digest = hashlib.sha256((PROJECT / toolchains.MANIFEST).read_bytes()).hexdigest()
    assert digest == "02dbf2a29f720cb5f77aaa84f39eee8d3773b104a5fef15e380cd301c134078d"


def test_the_data_that_come_with_the_project_are_at_most_60_megabytes() -> None:
    files = [path for path in (PROJECT / "data/raw/bundled").rglob("*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) <= 60_000_000

# SPDX-License-Identifier: Apache-2.0
"""Files that say the same thing in several places agree; a module depends on all that it imports, directly or not."""

from __future__ import annotations

import hashlib
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from rattler import MatchSpec

from harness import toolchains
from harness.import_closure import closure, closure_sha256
from harness.store import Store
from harness.tests.support.available import PROJECT, not_run

#: conda-forge's name where it differs from the Python index's.
CONDA_NAMES = {"docker": "docker-py", "matplotlib": "matplotlib-base", "seaborn": "seaborn-base"}
#: What conda-forge does not have: pip brings it with the project.
NOT_BY_CONDA = {"MLRsearch"}
#: What conda brings beside the packages that the project imports.
TOOLS = {
    "python", "pip", "git", "make", "openjdk", "maven", "go", "postgresql", "texlive-core", "poppler", "wrk",
}  # fmt: skip
ABOUT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = ABOUT["optional-dependencies"]
#: What the project itself imports.
USED = [*ABOUT["dependencies"], *EXTRAS["notebooks"], *EXTRAS["measure"]]


def test_conda_asks_for_the_same_packages_and_bounds_as_pyproject() -> None:
    *specs, pip = yaml.safe_load((PROJECT / "environment.yml").read_text("utf-8"))["dependencies"]
    assert pip == {"pip": ["-e .[notebooks,measure]"]}
    parsed = [MatchSpec(line, strict=True) for line in specs]
    bounds = {str(spec.name.normalized): str(spec.version or "") for spec in parsed if spec.name is not None}
    requirements = {r.name: r.specifier for r in map(Requirement, USED) if r.name not in NOT_BY_CONDA}
    known = {CONDA_NAMES.get(name, name): specifier for name, specifier in requirements.items()}
    assert {name: SpecifierSet(bounds[name]) for name in known} == known
    assert set(bounds) == {*known, *TOOLS}
    assert bounds["python"] == ABOUT["requires-python"]
    assert bounds["openjdk"] == f">={toolchains.JAVA_MINIMUM}"
    assert all(bounds[name] == f">={toolchains.wanted(name).minimum}" for name in ("go", "maven"))


def test_the_lock_satisfies_every_requirement_and_pins_each_by_hash() -> None:
    lock = (PROJECT / "requirements.lock").read_text("utf-8").replace("\\\n", " ")
    pinned: dict[str, list[Requirement]] = {}
    for block in lock.splitlines():
        if block and not block.lstrip().startswith("#"):
            requirement = Requirement(block.split("--hash", maxsplit=1)[0].strip())
            pinned.setdefault(canonicalize_name(requirement.name), []).append(requirement)
            assert "--hash=sha256:" in block, requirement
    for line in (*USED, *EXTRAS["test"], *EXTRAS["database"]):
        asked = Requirement(line)
        versions = [next(iter(r.specifier)).version for r in pinned[canonicalize_name(asked.name)]]
        assert all(asked.specifier.contains(version) for version in versions), line


HOSTS = (
    "pypi" + ".org", "files.python" + "hosted", "maven" + ".org", "proxy.golang" + ".org", "deb.debian" + ".org",
)  # fmt: skip


def test_no_file_of_set_up_names_a_registrys_host_or_a_folder_of_one_machine() -> None:
    files = [file for file in (PROJECT / "setup").rglob("*") if file.suffix in (".py", ".sh", ".txt", ".xml")]
    names = ("Makefile", "environment.yml", "pyproject.toml", "requirements.lock", ".ci/run")
    for file in (*files, *(PROJECT / name for name in names)):
        text = file.read_text("utf-8")
        assert not [host for host in (*HOSTS, "/root/", "/home/") if host in text], file


def test_the_citation_names_the_version_and_licences_of_the_package() -> None:
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert cited["version"] == ABOUT["version"]
    assert " AND ".join(cited["license"]) == ABOUT["license"]


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


def test_every_bundled_session_was_measured_with_a_source_that_anybody_can_check_out() -> None:
    git = ("git", "-C", str(PROJECT))
    if subprocess.check_output([*git, "rev-parse", "--is-shallow-repository"], text=True).strip() != "false":
        not_run("the history of the project: a clone with all of its commits")
    history = subprocess.check_output([*git, "rev-list", "HEAD"], text=True).split()
    commits = {
        session.key: session.header.provenance.commit for session in Store(PROJECT).sessions(bundled=True)
    }
    assert {key: commit for key, commit in commits.items() if commit not in history} == {}


#: Folders that building fills.
BUILT = {"target", "node_modules", "bin", ".gradle", "build"}
SUFFIXES = {".go", ".java", ".js", ".ts", ".py", ".rs", ".properties", ".xml", ".sql", ".toml"}
#: Written by a package manager from what an implementation asks for.
GENERATED = {"go.sum"}
WORKLOADS = sorted(path for path in (PROJECT / "services").iterdir() if path.is_dir())


def named_groups(workload: Path) -> set[frozenset[str]]:
    """Return each group of files that the list of a workload says are equal, as paths below its folder."""
    path = workload / "copies.toml"
    blocks = tomllib.loads(path.read_text("utf-8"))["copies"] if path.exists() else []
    pairs = [(block["folders"], file) for block in blocks for file in block["files"]]
    return {frozenset(f"{folder}/{file}" for folder in folders) for folders, file in pairs}


def equal_groups(workload: Path) -> set[frozenset[str]]:
    """Return each group of equal source files of the implementations of a workload, without what building made."""
    by_content: dict[bytes, set[str]] = defaultdict(set)
    for path in workload.glob("*/**/*"):
        parts = path.relative_to(workload).parts
        is_source = path.name not in GENERATED and (path.suffix in SUFFIXES or path.name == "Dockerfile")
        if is_source and parts[0] != "contract" and BUILT.isdisjoint(parts) and path.is_file():
            by_content[path.read_bytes()].add("/".join(parts))
    return {frozenset(group) for content, group in by_content.items() if content and len(group) > 1}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.name)
def test_equal_files_of_two_implementations_and_no_others_are_named_as_copies(workload: Path) -> None:
    assert equal_groups(workload) == named_groups(workload), f"{workload}/copies.toml"


SOURCES = {
    "__init__": "", "one": "import harness.deep\nfirst = 1\n", "two": "second = 2\n", "deep": "",
    "package/__init__": "from harness.two import second\n", "package/inner": "",
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, source in SOURCES.items():
        path = tmp_path / "harness" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import harness.two", {"harness.two"}),
        ("from harness.one import first", {"harness.one", "harness.deep"}),
        ("from harness.package import second", {"harness.package", "harness.two"}),
        ("from harness.package import inner", {"harness.package", "harness.package.inner", "harness.two"}),
        ("def late():\n    from harness.two import second", {"harness.two"}),
        ("if TYPE_CHECKING:\n    import harness.two\nelse:\n    import harness.deep", {"harness.deep"}),
    ],
)
def test_everything_that_can_be_imported_is_followed(root: Path, source: str, expected: set[str]) -> None:
    (root / "harness" / "user.py").write_text(source + "\n")
    assert set(closure(root, {"harness.user"})) - {"harness"} == expected | {"harness.user"}


def test_the_hash_changes_with_any_module_that_is_reached(root: Path) -> None:
    before = closure_sha256(root, {"harness.one"})
    (root / "harness" / "two.py").write_text("second = 3\n")
    assert closure_sha256(root, {"harness.one"}) == before
    (root / "harness" / "deep.py").write_text("third = 3\n")
    assert closure_sha256(root, {"harness.one"}) != before

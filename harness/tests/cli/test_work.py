# SPDX-License-Identifier: Apache-2.0
"""How much work a command does: counted in calls and imports, never in seconds."""

from __future__ import annotations

import cProfile
import os
import pstats
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.cli.list import row_of
from harness.definitions import experiment_files, load_study
from harness.model import LOAD_TOOLS
from harness.session import Assembly, assemble, prepare, session_s
from harness.tests.support.sessions import REPOSITORY

HEAVY = ("pandas", "numpy", "scipy", "matplotlib", "pyarrow", "pydantic", "rich", "paramiko", "docker", "jinja2")
#: What neither a list nor a report of a small file needs.
LATER = ("pandas", "paramiko", "cryptography", "psycopg", "matplotlib")


@pytest.fixture(scope="module")
def assembly() -> Assembly:
    return assemble(REPOSITORY)


def calls(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Do the work, and return (file, function) -> how often it was called."""
    profile = cProfile.Profile()
    profile.runcall(work)
    found: Counter[tuple[str, str]] = Counter()
    stats: Any = pstats.Stats(profile)
    for (file, _, function), (_, n, *_rest) in stats.stats.items():
        found[os.path.basename(file), function] += n
    return found


def of_generators(counted: Counter[tuple[str, str]], function: str) -> int:
    return sum(counted[f"{tool.name}.py", function] for tool in LOAD_TOOLS)


def test_the_time_of_a_session_is_told_without_rendering_any_load(assembly: Assembly) -> None:
    prepared = prepare(assembly, "bank-connections", profile="full", host="local", seed=1)
    assert len(prepared.plan.trials) > 100
    counted = calls(lambda: session_s(assembly, prepared))
    assert of_generators(counted, "expected_s") > 0
    assert of_generators(counted, "command") == 0
    assert counted["environment.py", "render"] == 0


def test_listing_reads_each_experiment_once_and_renders_no_load_twice(assembly: Assembly) -> None:
    names = list(experiment_files(REPOSITORY))
    rows: list[dict[str, Any]] = []
    counted = calls(lambda: rows.extend(row_of(assembly, name, strict=True) for name in names))
    assert counted["studies.py", "load_study"] == len(names)
    assert counted["availability.py", "variant_reasons"] == len(names)
    n_trials = sum(
        profile["trials"] for row in rows for profile in row["profiles"].values() if "trials" in profile
    )
    n_loads = sum(_loads(name) for name in names)
    assert of_generators(counted, "command") <= n_loads < n_trials / 10


def _loads(name: str) -> int:
    profiles = load_study(REPOSITORY, name).experiment.profiles.values()
    return sum(len(profile.loads) + len(profile.scaled_loads) for profile in profiles)


def test_the_help_imports_none_of_the_heavy_libraries() -> None:
    assert imported(["--help"], HEAVY) == []


def test_only_the_module_of_the_command_is_imported() -> None:
    modules = tuple(f"harness.cli.{name}" for name in ("adopt", "check", "duel", "measure", "report", "verify"))
    assert imported(["report", "--help"], modules) == ["harness.cli.report"]


def test_a_report_imports_what_it_computes_with_no_sooner_than_there_is_a_file(tmp_path: Path) -> None:
    later = ("scipy.special", "scipy.ndimage", "scipy.stats", *LATER, "pyarrow", "rich", "jinja2")
    assert imported(["report", str(tmp_path / "none.jtl")], later, code=2) == []


def test_a_report_for_programs_on_a_small_file_needs_no_arrow_and_no_rich() -> None:
    path = REPOSITORY / "harness" / "tests" / "golden" / "jmeter" / "samples.jtl"
    assert imported(["report", str(path), "--json"], (*LATER, "pyarrow", "rich")) == []


@pytest.mark.parametrize(
    "words",
    [["list"], ["list", "gc-peaks"], ["measure", "strings-rounds", "--dry-run"]],
    ids=["list", "list one", "dry run"],
)
def test_a_look_at_experiments_imports_no_driver_no_reader_and_no_remote_host(words: list[str]) -> None:
    assert imported(words, (*LATER, "pyarrow", "scipy", "docker", "harness.hosts.ssh.host")) == []


def imported(words: list[str], libraries: tuple[str, ...], *, code: int = 0) -> list[str]:
    """Return which of the libraries a command imports; ``code``: its exit code."""
    loaded = modules_of(tuple(words), code)
    return [name for name in libraries if name in loaded]


@cache
def modules_of(words: tuple[str, ...], code: int) -> frozenset[str]:
    """Run a command in a process of its own, once for all that is asked of it, and return what it imported."""
    program = (
        "import sys\n"
        f"sys.argv = ['rematch', *{words!r}]\n"
        "from harness.cli import main\n"
        "try:\n    main()\n"
        f"except SystemExit as end:\n    assert (end.code or 0) == {code}, end.code\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(done.stdout.splitlines()[-1].split())

# SPDX-License-Identifier: Apache-2.0
"""The folder that all workers share, the tools that come first on PATH, which files begin first, and real parts."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.store import SessionFolder
from harness.tests.support import sessions
from harness.tests.support.available import PROJECT, SHARED
from harness.tests.support.dockerd import Daemon, client_of, make_python_base, tidy_daemon
from harness.tests.support.instances import OBEYS_WITHIN_S, Project
from harness.tests.support.puppet import Puppet, puppet_maker
from harness.tests.support.sshd import Sshd
from harness.tests.support.tools_here import reference_jdk
from harness.toolchains import Jdk, Surroundings, build_environment

# A grammar of IRIs that jsonschema makes when it is imported, in every worker: no notebook has one.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # an import of it fails, as where it is absent
# A rule of a contract that does not hold says what was found, as in a test.
pytest.register_assert_rewrite("harness.tests.contracts")

TESTS = Path(__file__).parent
#: Files that take longest, begun first so that no worker is left with one at the end.
LONGEST = (
    "sources/test_maven_services.py", "sources/test_python.py", "sources/test_services.py",
    "whole/test_notebooks.py", "whole/test_four_placements.py", "publish/test_build.py",
    "session/test_remote_session.py", "loadgen/tools/test_jmeter.py", "test_papermill_engine.py",
    "runner/test_trial.py", "session/test_memory.py", "runner/test_one_process.py", "chaos/test_faults.py",
    "whole/test_service_of_another_language.py", "figures/test_every_figure.py", "verify/test_simulated.py",
    "session/test_measuring.py", "cli/test_results.py", "cli/test_claims.py", "questions/test_workshop.py",
)  # fmt: skip
#: Files whose tests may build with Maven, begun after those: services' own tests use it in the meantime.
WITH_MAVEN = ("whole/test_request_logs.py", "session/test_availability.py")


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the run, and put the preferred tools first on PATH; workers and children inherit both."""
    if SHARED not in os.environ:
        folder = tempfile.mkdtemp(prefix="rematch-tests-")
        os.environ[SHARED] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ.update(build_environment(Surroundings(project=PROJECT)))
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, then those that build with Maven, each whole."""
    places = {TESTS / name: place for place, name in enumerate((*LONGEST, *WITH_MAVEN))}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with Sshd(tmp_path_factory.mktemp("sshd")) as started:
        yield started


@pytest.fixture
def puppets() -> Iterator[Callable[[], Puppet]]:
    with puppet_maker() as make:
        yield make


@pytest.fixture
def puppet(puppets: Callable[[], Puppet]) -> Puppet:
    return puppets()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    yield from tidy_daemon(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def base(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_python_base(client_of(daemon), tmp_path_factory.mktemp("base"))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path, grace_s=OBEYS_WITHIN_S)
    yield made
    made.close()


@pytest.fixture(scope="module")
def jdk() -> Jdk:
    return reference_jdk()


@pytest.fixture
def folder(root: Path) -> SessionFolder:
    return sessions.tiny_folder(root)

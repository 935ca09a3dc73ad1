# SPDX-License-Identifier: Apache-2.0
"""Which files begin first, and what did not run: said at the end, where nobody overlooks it.

Where ``CI`` is set every test must have run whose real part can be brought.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from harness.tests.support import shared
from harness.tests.support.available import CANNOT_TELL, NOT_ASKED_FOR, NOT_RUN, PROJECT
from harness.toolchains import Surroundings, build_environment

# A grammar of IRIs that jsonschema makes when it is imported, in every worker: no notebook has one.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # an import of it fails, as where it is absent
# A rule of a contract that does not hold says what was found, as in a test.
pytest.register_assert_rewrite("harness.tests.contracts")

TESTS = Path(__file__).parent
#: Files that take longest, begun first so that no worker is left with one at the end.
LONGEST = (
    "sources/test_maven_services.py",
    "whole/test_notebooks.py",
    "whole/test_four_placements.py",
    "publish/test_build.py",
    "session/test_remote_session.py",
    "verify/test_bound.py",
    "test_platforms.py",
    "loadgen/tools/test_jmeter.py",
    "test_papermill_engine.py",
    "runner/test_trial.py",
    "session/test_memory.py",
    "runner/test_one_process.py",
    "chaos/test_faults.py",
    "whole/test_service_of_another_language.py",
    "figures/test_every_figure.py",
    "verify/test_simulated.py",
    "session/test_measuring.py",
    "sources/test_python.py",
    "cli/test_results.py",
)
#: Files whose tests may build with Maven, begun after those: services' own tests use it in the meantime.
WITH_MAVEN = (
    "whole/test_request_logs.py",
    "session/test_availability.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the run, and put the preferred tools first on PATH; workers and children inherit both."""
    if shared.VARIABLE not in os.environ:
        folder = tempfile.mkdtemp(prefix="rematch-tests-")
        os.environ[shared.VARIABLE] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ.update(build_environment(Surroundings(project=PROJECT)))
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, then those that build with Maven, each whole."""
    places = {TESTS / name: place for place, name in enumerate((*LONGEST, *WITH_MAVEN))}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = skipped_for(terminalreporter)
    for reason, n in sorted(reasons.items()):
        terminalreporter.write_line(f"{n} {'test' if n == 1 else 'tests'} {reason}", yellow=True)
    if _must_run_all() and (n_lacking := _n_not_run(reasons)):
        terminalreporter.write_line(
            f"FAILED: {n_lacking} {'test was' if n_lacking == 1 else 'tests were'} not run for want of a real part, "
            "and CI is set: bring the parts named above, or unset CI to go without them",
            red=True,
        )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that is meant to hold for every change and left out what it is about."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or exitstatus != pytest.ExitCode.OK or not _must_run_all():
        return  # without a reporter this is one of xdist's workers: the controller knows all
    if _n_not_run(skipped_for(reporter)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skipped_for(reporter: pytest.TerminalReporter) -> Counter[str]:
    """Return reason -> how many tests were skipped for it."""
    reasons: Counter[str] = Counter()
    for report in reporter.stats.get("skipped", []):
        where = report.longrepr
        reason = where[2].removeprefix("Skipped: ") if isinstance(where, tuple) else ""
        if reason.startswith((NOT_RUN, NOT_ASKED_FOR, CANNOT_TELL)):
            reasons[reason] += 1
    return reasons


def _n_not_run(reasons: Counter[str]) -> int:
    return sum(n for reason, n in reasons.items() if reason.startswith(NOT_RUN))


def _must_run_all() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")

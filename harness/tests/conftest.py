# SPDX-License-Identifier: Apache-2.0
"""What did not run for want of a tool is said at the end, where nobody overlooks it."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.tests.available import NOT_RUN


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        where = report.longrepr
        reason = where[2].removeprefix("Skipped: ") if isinstance(where, tuple) else ""
        if reason.startswith(NOT_RUN):
            reasons[reason] += 1
    for reason, n in sorted(reasons.items()):
        terminalreporter.write_line(f"{n} {'test' if n == 1 else 'tests'} {reason}", yellow=True)

# SPDX-License-Identifier: Apache-2.0
"""The results on open and closed loops have the same keys measured or not."""

from __future__ import annotations

from harness.publish.findings import FINDING, NO_FINDING
from harness.publish.results import Absent, leaves
from harness.questions.gc_loops import results


def test_what_was_not_measured_is_absent_in_every_leaf() -> None:
    variants = {"serial-64m": "Serial, 64 MiB", "go-gogc-100": "Go, GOGC 100"}
    found = results(None, variants)
    assert found[FINDING] == NO_FINDING and isinstance(found["range"], Absent)
    told = [path for path, leaf in leaves(found) if path[0] not in ("name", "bounded")]
    assert ("range",) in told and ("p99", "serial-64m") in told
    assert all(isinstance(leaf, Absent) for path, leaf in leaves(found) if path in told)

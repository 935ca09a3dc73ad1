# SPDX-License-Identifier: Apache-2.0
"""A flow goes through a whole trial: start-up, warm-up, load and record, with a real service."""

from __future__ import annotations

import json
from pathlib import Path

from harness.model import Outcome
from harness.tests.support.sessions import make_session_project, measure_tiny

JSON_TYPE = {"Content-Type": "application/json"}


def line(step: int, name: str, body: str, **more: object) -> str:
    whole = {
        "mix": "hello",
        "name": name,
        "step": step,
        "method": "POST",
        "headers": JSON_TYPE,
        "body": body,
        **more,
    }
    return json.dumps(whole)


def test_a_trial_of_a_flow_counts_requests_and_passes(tmp_path: Path) -> None:
    root = make_session_project(tmp_path, loops=3)
    (root / "services" / "strings" / "contract" / "requests.jsonl").write_text(
        line(2, "count", '{"s":"${v}"}', path="/count", expect={"status": 200, "json": {"v": 5}})
        + "\n"
        + line(
            1,
            "upper",
            '{"s":"hello"}',
            path="/uppercase",
            capture={"v": "/v"},
            expect={"status": 200, "json": {"v": "${v}"}},
        )
    )
    for record in measure_tiny(root).records():
        assert record.outcome == Outcome.OK
        assert record.start_up is not None
        assert record.load is not None
        assert record.load.n_flows == record.load.n_flows_right
        assert record.load.n_requests == 2 * (record.load.n_flows or 0) > 0

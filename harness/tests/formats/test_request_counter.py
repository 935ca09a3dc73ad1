# SPDX-License-Identifier: Apache-2.0
"""What a service says that it has answered."""

from __future__ import annotations

import pytest

from harness.formats.counters import answered

BY_LABELS = """# TYPE http_requests_total counter
http_requests_total{path="/health",status="200"} 3
http_requests_total{path="/hello",status="200"} 1.2e+03
http_requests_total{path="/metrics",status="200"} 7
http_requests_total_of_somebody_else 100
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(BY_LABELS, 1203, id="by labels, without those for the metrics"),
        pytest.param("http_requests_total 5\n", 5, id="without labels"),
        pytest.param("http_requests_total 5 1700000000000\r\n", 5, id="with the moment of the reading"),
        pytest.param("# TYPE http_requests_total counter\n", 0, id="none yet"),
        pytest.param(
            '# TYPE http_request_duration_seconds histogram\nhttp_request_duration_seconds_count{path="/x"} 0\n',
            0,
            id="none yet, and the counter is left out until then",
        ),
        pytest.param('http_requests_total{path="/metrics"} 5\n', 0, id="for the metrics alone"),
        pytest.param("go_goroutines 5\n", None, id="no such counter"),
        pytest.param("http_requests_total NaN\n", None, id="not a number"),
        pytest.param("http_requests_total +Inf\n", None, id="without end"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_requests_that_a_service_counted_are_added_up(text: str, expected: int | None) -> None:
    assert answered(text) == expected

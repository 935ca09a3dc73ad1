# SPDX-License-Identifier: Apache-2.0
"""What breaks the schema of a table of trials is named with its column."""

from __future__ import annotations

from typing import Any

import pytest

from harness.analysis.tables.layout import load_trials
from harness.analysis.tables.schema import as_trials
from harness.analysis.tables.tidy import tidy
from harness.errors import InputError
from harness.tests.support.toy_sessions import make_session

FACTORS = ("logging", "factor_generator")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of a small session."""
    root = tmp_path_factory.mktemp("schema")
    make_session(root)
    tidy(root)
    found = load_trials(root, "toy").astype("object")
    return [
        {str(name): value for name, value in row.items()}
        for row in found.where(found.notna(), None).to_dict("records")
    ]


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"latency_p99_s": -1e-9}, "latency_p99_s"),
        ({"position": 0}, "position"),
        ({"variant": None}, "variant"),
        ({"excluded": True}, "exclusion_reason"),
        ({"exclusion_reason": "failed"}, "exclusion_reason"),
        ({"trial_id": "0002"}, "trial_id"),
        ({"block": 2}, "configuration"),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)
def test_what_breaks_the_schema_is_seen_and_named(
    rows: list[dict[str, Any]], changes: dict[str, object], column: str
) -> None:
    first, second = rows[0], rows[1] | {"trial_id": "0002"}
    later = first | {"trial_id": "0003", "block": 2}
    assert len(as_trials([first, second, later], FACTORS)) == 3
    assert as_trials([], FACTORS).empty
    with pytest.raises(InputError, match="breaks its schema") as caught:
        as_trials([first | changes, second, later], FACTORS)
    assert column in str(caught.value)

# SPDX-License-Identifier: Apache-2.0
"""A table of trials is looked through quickly, and by the schema itself where that finds anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.tables.layout import load_trials
from harness.analysis.tables.schema import as_trials, keeps_to_schema, trials_schema
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


def test_a_right_table_is_one_to_both(rows: list[dict[str, Any]]) -> None:
    for some in (rows, rows[:1], []):
        frame = as_trials(some, FACTORS)
        assert keeps_to_schema(frame)
        assert trials_schema(FACTORS).validate(frame, lazy=True).equals(frame)


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"latency_p99_s": -1e-9}, "latency_p99_s"),
        ({"position": 0}, "position"),
        ({"variant": None}, "variant"),
        ({"excluded": True}, ""),
        ({"exclusion_reason": "failed"}, ""),
        ({"trial_id": "0002"}, ""),
        ({"block": 2}, ""),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)
def test_what_breaks_the_schema_is_seen_and_named(
    rows: list[dict[str, Any]], changes: dict[str, object], column: str
) -> None:
    first, second = rows[0], rows[1] | {"trial_id": "0002"}
    later = first | {"trial_id": "0003", "block": 2}
    assert keeps_to_schema(as_trials([first, second, later], FACTORS))
    with pytest.raises(InputError, match="breaks its schema") as caught:
        as_trials([first | changes, second, later], FACTORS)
    assert column in str(caught.value)


def test_a_right_table_needs_no_pandera(tmp_path: Path) -> None:
    make_session(tmp_path)
    code = (
        "import sys; from pathlib import Path; from harness.analysis.tables.tidy import tidy; "
        "tidy(Path(sys.argv[1])); print([name for name in sys.modules if name == 'pandera'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

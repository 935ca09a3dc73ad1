# SPDX-License-Identifier: Apache-2.0
"""Rules for the two versions of a duel: what names one, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.duel.sides import sides
from harness.errors import InputError


def test_two_releases_of_the_jdk_run_the_same_sources(tmp_path: Path) -> None:
    with sides("java:17", "java:25", tmp_path) as (first, second):
        assert (first.label, first.java, second.label, second.java) == ("java-17", 17, "java-25", 25)
        assert first.source == second.source == tmp_path


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("java:9", "java:25", "found 'java:9'; allowed: java:17 or newer"),
        ("java:21", "java:21", "both versions are the same"),
        ("./nowhere", "java:21", "no such folder"),
        ("java:x", "java:25", "neither a folder"),
    ],
)
def test_what_is_no_version_is_refused(first: str, second: str, said: str, tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=said),
        sides(first, second, tmp_path),
    ):
        pass

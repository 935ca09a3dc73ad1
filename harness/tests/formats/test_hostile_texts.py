# SPDX-License-Identifier: Apache-2.0
"""Faults that changed files have shown, of readers that ``chaos/test_readers.py`` does not try: each stays mended."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from harness.agent.cgroup import parse_cpu_stat, whole_number
from harness.errors import InputError
from harness.formats.row_files import read_oha_db

DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("there", "put"),
    [(b"CREATE TABLE", b"CREATE\xff\xfeABLE"), (b"tableoha", b"tableoh\xff"), (b"duration", b"durati\xff\n")],
)
def test_a_schema_of_oha_that_is_not_utf_8_is_refused(there: bytes, put: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE oha (start, start_latency_correction, duration, status)")
    connection.close()
    data = file.read_bytes()
    assert data.count(there) == 1
    file.write_bytes(data.replace(there, put))
    with pytest.raises(InputError, match=r"a\.db: cannot be read as oha's") as refused:
        read_oha_db(file)
    assert refused.value.exit_code == 2 and "\n" not in str(refused.value)
    file.write_bytes(data)
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO oha VALUES ('x', NULL, 'y', 'z')")
    connection.close()
    with pytest.raises(InputError, match=r"a\.db"):
        read_oha_db(file)


@pytest.mark.parametrize(
    "text", ["\N{SUPERSCRIPT TWO}", DIGITS, "-1", "", "1.5", "\N{ARABIC-INDIC DIGIT THREE}"]
)
def test_a_counter_of_the_kernel_is_digits(text: str) -> None:
    assert whole_number(text) is None
    assert parse_cpu_stat(f"nr_throttled {text}\nthrottled_usec {text}") is None

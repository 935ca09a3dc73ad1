# SPDX-License-Identifier: Apache-2.0
"""Tables of text come back byte by byte from their form in columns, and bytes that are none are refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.store.columns import BadColumns, from_columns, to_columns

MOST_BYTES = 1 << 20


def samples(n: int) -> bytes:
    """Rows as a sampler writes them: two processes in turn, totals that grow, cells that are empty."""
    rows = [b"monotonic_s,role,rss_bytes,cpu_s,n_threads"]
    for i in range(n):
        role, cpu_s = (b"service", 25.9 + 0.02 * i) if i % 2 else (b"generator", 2.7 + 0.0171 * i)
        rows.append(b"%.6f,%s,404602880,%.6f," % (6289.485305 + 0.01 * i + 1e-6 * (i * 7 % 23), role, cpu_s))
    return b"\n".join(rows) + b"\n"


def test_samples_come_back_and_take_fewer_bytes() -> None:
    text = samples(500)
    columns = to_columns(text)
    assert columns is not None and len(columns) < 0.8 * len(text)
    assert from_columns(columns, len(text)) == text


def in_no_regular_turn(n: int) -> bytes:
    """Samples of three processes, whose rows follow each other as it happens."""
    draw = random.Random(1)
    cpu_us = {b"service": 0, b"generator": 10**9, b"database": 5 * 10**9}
    rows = [b"monotonic_s,role,cpu_s"]
    for i in range(n):
        role = draw.choice(list(cpu_us))
        cpu_us[role] += 19_000 + draw.randrange(1_000)
        rows.append(b"%.6f,%s,%.6f" % (6289.485305 + 0.01 * i, role, cpu_us[role] / 1e6))
    return b"\n".join(rows) + b"\n"


def test_totals_of_several_processes_are_sorted_by_process_and_come_back() -> None:
    text = in_no_regular_turn(900)
    columns = to_columns(text)
    assert columns is not None and columns.count(b'"by":1') == 1
    assert from_columns(columns, len(text)) == text


@pytest.mark.parametrize("by", [b"2", b"9"])
def test_a_column_sorted_by_itself_or_by_none_is_refused(by: bytes) -> None:
    columns = to_columns(in_no_regular_turn(900))
    assert columns is not None
    with pytest.raises(BadColumns, match="does not come before"):
        from_columns(columns.replace(b'"by":1', b'"by":' + by), MOST_BYTES)


CELLS = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(-(10**6), 10**6, places=6).map(str),
    st.floats().map(repr),
    st.sampled_from(["", "-0", "-0.0", "-0.5", "007", "1.", ".5", "+1", "1e5", "1.0000000000", "9" * 19, "a\rb", "é", '"']),
)  # fmt: skip
WORDS = st.sampled_from(["service", "generator", "database"])
ROWS = st.one_of(
    st.lists(CELLS, min_size=1, max_size=6), st.tuples(WORDS, CELLS, CELLS), st.tuples(CELLS, WORDS, CELLS)
).map(",".join)
TABLES = st.lists(ROWS, min_size=1, max_size=12)


@given(TABLES)
def test_any_lines_of_cells_come_back(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines * 40).encode()
    columns = to_columns(text)
    assert columns is None or from_columns(columns, len(text)) == text


@pytest.mark.parametrize("text", [b"", b"a,b", b"a,b\n1,2", b"".join(b"," * n + b"\n" for n in range(300))])
def test_text_that_is_no_table_is_left_as_it_is(text: bytes) -> None:
    assert to_columns(text) is None


@given(st.binary(max_size=300))
def test_bytes_that_are_no_columns_are_refused(data: bytes) -> None:
    with pytest.raises(BadColumns):
        from_columns(data, MOST_BYTES)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_columns_are_refused_or_give_no_more_than_was_asked_for(seed: int) -> None:
    draw = random.Random(seed)
    good = to_columns(draw.choice([samples, in_no_regular_turn])(60))
    assert good is not None
    bad = bytearray(good)
    for _ in range(draw.randint(1, 4)):
        bad[draw.randrange(len(bad))] = draw.randrange(256)
    cut = bytes(bad)[: draw.choice([len(bad), draw.randrange(len(bad))])]
    try:
        assert len(from_columns(cut, len(good) * 4)) <= len(good) * 4
    except BadColumns:
        return


def test_more_text_than_was_asked_for_is_refused() -> None:
    text = samples(60)
    columns = to_columns(text)
    assert columns is not None
    with pytest.raises(BadColumns, match=f"more than {len(text) - 1} bytes"):
        from_columns(columns, len(text) - 1)

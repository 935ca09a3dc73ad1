# SPDX-License-Identifier: Apache-2.0
"""Changed and hostile files: every reader reads them or refuses them in one line; a broken promise is found."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from harness.errors import InputError, RematchError, StoreError
from harness.project import find_root
from harness.tests.support.available import only_when_long
from harness.verify.fuzz import campaign
from harness.verify.fuzz.campaign import Campaign, Finding, Tally, answer, run, save
from harness.verify.fuzz.hostile import NAMES, bomb, hostile, hostile_archive
from harness.verify.fuzz.mutate import Format, mutated
from harness.verify.fuzz.page import KEPT, kept, table
from harness.verify.fuzz.readers import Reader, readers
from harness.verify.fuzz.recordings import EVENTS, PART_BYTES, fewer_events, ledgers

ROOT = find_root(Path(__file__).parent)
NAMES_OF_READERS = (
    "jmeter csv", "locust csv", "k6 csv", "k6 json", "oha csv", "oha sqlite", "vegeta csv", "wrk text", "wrk2 text",
    "jvm log", "gctrace", "jfr json", "nmt", "prometheus", "contention", "krun", "samples", "cgroup", "experiment",
    "claims", "service", "requests", "cases", "hosts", "record", "archive",
)  # fmt: skip
#: Files of each reader in every run; another seed looks further: `rematch verify fuzz --seed N`.
FEW, SEED = 12, 20261124


@cache
def every() -> dict[str, Reader]:
    """All readers by name; their recordings are read when a test asks for them, not wherever tests are collected."""
    return {one.name: one for one in readers(ROOT)}


@pytest.mark.parametrize("name", NAMES_OF_READERS)
def test_a_changed_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    found = run([every()[name]], tmp_path, seed=SEED, inputs=FEW)
    assert [f"{f.what} ({f.where})" for f in found.findings.values()] == []
    assert found.inputs == FEW


@only_when_long("ten thousand changed files")
def test_ten_thousand_changed_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    found = run(tuple(every().values()), tmp_path, seed=SEED + 1, inputs=10_000)
    assert [f"{f.what} ({f.where})" for f in found.findings.values()] == []


def test_every_kind_of_file_that_is_read_has_a_reader() -> None:
    assert tuple(every()) == NAMES_OF_READERS


def test_an_unchanged_recording_is_read_so_that_changes_reach_behind_the_first_check(tmp_path: Path) -> None:
    refused = []
    for one in every().values():
        said = [answer(one, data, tmp_path / one.name, random.Random(1))[0] for data in _made(one, tmp_path)]
        if not any(outcome is None for outcome in said):
            refused.append((one.name, said))
    assert refused == []


def _made(one: Reader, folder: Path) -> tuple[bytes, ...]:
    (folder / one.name).mkdir(parents=True, exist_ok=True)
    return one.recordings


def test_a_long_recording_is_changed_in_parts_and_all_of_its_claims_are_in_one() -> None:
    whole = b"[claims.a]\nx = 1\n" + b"[claims.b]\ny = 2\n" * 800 + b"[claims.c]\nz = 3\n"
    parts = ledgers((whole,))
    assert b"".join(parts) == whole and len(parts) > 3 and max(map(len, parts)) <= PART_BYTES
    assert all(part.startswith(b"[claims.") for part in parts)


def test_a_flight_recording_keeps_a_few_events_of_each_type() -> None:
    events = [{"type": kind, "values": {"n": n}} for n in range(50) for kind in ("a", "b")]
    short = json.loads(fewer_events(json.dumps({"recording": {"events": events}}).encode()))
    kept = Counter(event["type"] for event in short["recording"]["events"])
    assert kept == {"a": EVENTS, "b": EVENTS}


def test_each_hostile_file_comes_and_those_of_megabytes_seldom() -> None:
    rng = random.Random(4)
    seen = Counter(hostile("lines", rng) for _ in range(5000))
    large = {data for data in seen if len(data) >= 1 << 20 or data[:2] == b"\x1f\x8b"}
    assert 3 < len(large) < len(seen)
    assert max(seen[data] for data in large) < min(seen[data] for data in seen if data not in large)


def test_the_same_seed_gives_the_same_files() -> None:
    one = every()["jmeter csv"]
    first, again = ([one.input(random.Random(f"7 {n}")) for n in range(30)] for _ in range(2))
    assert first == again and len(set(first)) > 25


def test_a_file_does_not_depend_on_those_that_were_made_before_it() -> None:
    original = b'{"a": [1, {"b": null, "c": [2, [3]]}], "d": {"e": {"f": []}}}'
    fresh = {n: mutated(original, "json", random.Random(n), [original]) for n in range(2000)}
    later = {n: mutated(original, "json", random.Random(n), [original]) for n in reversed(range(2000))}
    assert fresh == later


def broken(error: BaseException | None, names: str | None = None) -> Reader:
    def read(data: bytes, folder: Path, rng: random.Random) -> None:
        if error is not None:
            raise error

    return Reader(name="broken", form="lines", recordings=(b"a\nb\n",), read=read, names=names)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyError("x"), "KeyError"),
        (RecursionError("deep"), "RecursionError"),
        (MemoryError(), "memory"),
        (RematchError("status 1"), "refusal: exit status 1"),
        (StoreError("two\nlines"), "refusal: more than one line"),
        (InputError("no name"), "refusal: does not name the file"),
    ],
)
def test_a_broken_promise_is_a_finding(error: BaseException, what: str, tmp_path: Path) -> None:
    found = run([broken(error, names="changed.file")], tmp_path, seed=1, inputs=5)
    (finding,) = found.findings.values()
    assert finding.what.startswith(what)
    assert found.tallies["broken"].findings == 5
    (path,) = save([finding], tmp_path / "saved")
    assert path.read_bytes() == finding.data


def test_a_refusal_that_names_its_file_is_none(tmp_path: Path) -> None:
    error = InputError("is no table", file="changed.file", place="line 1", allowed="a table")
    found = run([broken(error, names="changed.file")], tmp_path, seed=1, inputs=3)
    assert not found.findings and found.tallies["broken"].refused == 3


def test_a_reader_without_end_and_one_that_takes_memory_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "LONGEST_CPU_S", 0.2)
    monkeypatch.setattr(campaign, "MOST_BYTES", 32 << 20)

    def endless(data: bytes, folder: Path, rng: random.Random) -> None:
        while True:
            pass

    def greedy(data: bytes, folder: Path, rng: random.Random) -> None:
        assert len(bytearray(b"x") * (96 << 20)) > 0

    for read, what in ((endless, "time"), (greedy, "memory")):
        one = Reader(name=what, form="lines", recordings=(b"a",), read=read, names=None)
        (finding,) = run([one], tmp_path, seed=1, inputs=1).findings.values()
        assert finding.what.startswith(what)


def test_a_reader_that_writes_beside_its_folder_is_found(tmp_path: Path) -> None:
    def stray(data: bytes, folder: Path, rng: random.Random) -> None:
        (folder.parent / "outside").write_text("x")

    one = Reader(name="stray", form="lines", recordings=(b"a",), read=stray, names=None)
    (finding,) = run([one], tmp_path, seed=1, inputs=1).findings.values()
    assert finding.what == "wrote outside of its folder"


def test_hostile_archives_hold_each_kind_of_harm() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("session.json", "{}")
    names, methods, large = set(), set(), False
    for n in range(200):
        data = hostile_archive(made.getvalue(), random.Random(n))
        try:
            entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
        except Exception:  # damaged ones are wanted too
            continue
        names |= {entry.filename for entry in entries}
        methods |= {entry.compress_type for entry in entries}
        large |= any(entry.file_size > 50 << 20 for entry in entries)
    assert len(names & set(NAMES)) > 6 and any(".." in name for name in names)
    assert {zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED} <= methods and large


def test_a_bomb_is_small() -> None:
    assert len(bomb(b"x")) < 200_000


@pytest.mark.parametrize("form", ["lines", "csv", "json", "toml", "bytes"])
def test_each_form_is_changed_and_may_become_empty(form: Format) -> None:
    original = {"json": b'{"a": [1, {"b": null}]}', "toml": b'a = 1\n[b]\nc = "d"\n'}.get(
        form, b"a,b\n1,2\n3,4\n"
    )
    made = {mutated(original, form, random.Random(n), [original]) for n in range(300)}
    assert len(made) > 150
    assert mutated(b"", form, random.Random(3), []) is not None


def test_a_campaign_is_kept_and_its_table_stands_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/security.md").write_text(f"above\n{KEPT.begin}\n{KEPT.end}\nbelow\n")
    fault = Finding("jmeter", "KeyError: 'x'", "harness/a.py: f", b"")
    ran = Campaign(
        tallies={"jmeter": Tally(inputs=3, read=1, refused=1, findings=1)}, findings={fault.key: fault}
    )
    KEPT.write(tmp_path, kept(ran, seed=7, place="here", wall_s=60))
    KEPT.write(tmp_path, kept(ran, seed=8, place="here", wall_s=60))
    page = KEPT.write(tmp_path, kept(ran, seed=7, place="there", wall_s=60)).read_text("utf-8")
    assert page.startswith("above\n") and page.endswith("below\n")
    assert "| jmeter | 6 | 2 | 2 | 2 |" in page, "a seed that runs again takes the place of its first run"
    assert "harness/a.py: f" in page
    assert "| all | 6 | 2 | 2.0 min | |" in page
    assert [one.seed for one in KEPT.read(tmp_path)] == [8, 7]


def test_a_campaign_that_is_stopped_keeps_what_was_answered(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def read(data: bytes, _folder: Path, _rng: random.Random) -> None:
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(data)

    one = Reader(name="five", form="lines", recordings=(b"a\n",), read=read, names=None)
    found = run([one], tmp_path, seed=1, inputs=100)
    assert found.inputs == found.tallies["five"].read == 5


def test_the_table_of_the_page_is_that_of_the_record() -> None:
    text = (ROOT / "docs/security.md").read_text("utf-8")
    assert text.partition(KEPT.begin)[2].partition(KEPT.end)[0].strip() == table(KEPT.read(ROOT)).strip()


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/fuzz.json").write_text(json.dumps([{"seed": "x"}]))
    with pytest.raises(InputError, match=r"fuzz\.json"):
        KEPT.read(tmp_path)

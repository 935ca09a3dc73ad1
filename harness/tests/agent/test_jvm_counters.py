# SPDX-License-Identifier: Apache-2.0
"""A JVM's compile time from the file that it maps: of real JVMs, and of files that are no such file."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from pathlib import Path

import pytest

from harness.agent import process_tree
from harness.agent.process_tree import COMPILE_TICKS, FREQUENCY, compile_seconds, read_counters
from harness.tests.support.instances import eventually
from harness.tests.support.tools_here import tools_here

BUSY = """
public class Busy {
  public static void main(String[] words) throws Exception {
    long sum = 0;
    for (int n = 0; n < 20_000_000; n++) sum += Integer.toString(n % 1000).hashCode();
    System.out.println(sum);
    System.in.read();
  }
}
"""


def made(order: str, counters: dict[str, int]) -> bytes:
    """Return a file as HotSpot lays it out."""
    entries = b""
    for name, value in counters.items():
        said = name.encode() + b"\0"
        said += b"\0" * (-len(said) % 8)
        length = 20 + 4 + len(said) + 8
        entries += struct.pack(order + "iii4Bi", length, 24, 0, ord("J"), 0, 1, 3, 24 + len(said))
        entries += b"\0" * 4 + said + struct.pack(order + "q", value)
    head = b"\xca\xfe\xc0\xc0" + bytes([order == "<", 2, 0, 1])
    return head + struct.pack(order + "iiqii", 32 + len(entries), 0, 0, 32, len(counters)) + entries


def test_a_file_cut_short_or_changed_anywhere_gives_what_can_be_had_and_never_an_error() -> None:
    whole = made("<", {COMPILE_TICKS: 5, FREQUENCY: 7})
    assert read_counters(whole) == read_counters(made(">", {COMPILE_TICKS: 5, FREQUENCY: 7})) != {}
    for end in range(len(whole)):
        assert set(read_counters(whole[:end])) <= {COMPILE_TICKS, FREQUENCY}
    rng = random.Random(3)
    for _ in range(2000):
        changed = bytearray(whole)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        read_counters(bytes(changed))
    assert read_counters(b"") == read_counters(b"no such file at all, but long enough to be one") == {}


def test_what_replaces_its_counters_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "PROC", tmp_path)
    outside = tmp_path / "outside"
    outside.write_bytes(made("<", {COMPILE_TICKS: 5, FREQUENCY: 1}))
    for pid in (1, 2, 3, 4):
        (tmp_path / str(pid) / "root/tmp/hsperfdata_me").mkdir(parents=True)
        (tmp_path / str(pid) / "status").write_text(f"NSpid:\t{pid}\n")
    places = {pid: tmp_path / f"{pid}/root/tmp/hsperfdata_me/{pid}" for pid in (1, 2, 3, 4)}
    places[1].write_bytes(outside.read_bytes())
    places[2].symlink_to(outside)
    os.mkfifo(places[3])
    places[4].mkdir()
    assert [compile_seconds(pid) for pid in places] == [5.0, None, None, None]


def test_a_real_jvm_that_compiles_says_for_how_long(tmp_path: Path) -> None:
    jdk = tools_here().jdk_for(25)
    assert jdk is not None, "no JDK 25 or newer: make setup"
    source = tmp_path / "Busy.java"
    source.write_text(BUSY)
    with subprocess.Popen([jdk.java, source], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as jvm:
        assert jvm.stdout is not None
        jvm.stdout.readline()  # it has compiled itself and its loop
        before = compile_seconds(jvm.pid)
        assert before is not None and before > 0
        jvm.communicate(b"\n")
    assert eventually(lambda: compile_seconds(jvm.pid) is None)

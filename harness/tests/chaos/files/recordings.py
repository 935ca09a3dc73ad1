# SPDX-License-Identifier: Apache-2.0
"""Recordings that are changed for readers: what is written here, and long files of the clone in parts.

A reader's faults are in kinds of lines and values, not in their number, and a short file is read sooner.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path

#: Of a long ledger, recordings are parts of so many bytes; of a flight recording, so many events of each type.
PART_BYTES, EVENTS = 4000, 4

SAMPLES = b"monotonic_s,role,rss_bytes,cpu_s\n" + b"".join(
    b"%d.5,service,%d,%d.25\n" % (i, 10**6 + i, i) for i in range(20)
)
CONTENTION = (
    b"\n                     Contention by Lock Class\n\nLock Class          Count  Avg.    P90     Max.\n"
    b"------------------- ----- ------- ------- -------\njava.lang.Object       12 1.23 ms 4.56 ms 7.89 ms\n"
)
#: Of both versions: mountinfo, the process's groups, cpu.stat, memory; one after the other.
CUT = b"\n=====\n"
CGROUP = (
    CUT.join((
        b"1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", b"0::/a/b\n",
        b"usage_usec 1000\nnr_periods 5\nnr_throttled 2\nthrottled_usec 300\n", b"4096\n",
    )),
    CUT.join((
        b"1 2 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        b"1 2 0:4 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        b"2:memory:/a/b\n1:cpu,cpuacct:/a/b\n", b"nr_periods 5\nnr_throttled 2\nthrottled_time 300\n", b"4096\n",
    )),
)  # fmt: skip


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def ledgers(whole: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Cut ledgers into smaller ones between their claims."""
    parts = [b""]
    for claim in (one for data in whole for one in re.split(rb"(?m)^(?=\[claims\.)", data)):
        if len(parts[-1]) + len(claim) > PART_BYTES:
            parts.append(b"")
        parts[-1] += claim
    return tuple(part for part in parts if part)


def fewer_events(data: bytes) -> bytes:
    """Return a flight recording with a few events of each type."""
    tree, kept = json.loads(data), defaultdict[str, list[object]](list)
    for event in tree["recording"]["events"]:
        kept[event["type"]].append(event)
    tree["recording"]["events"] = [event for events in kept.values() for event in events[:EVENTS]]
    return json.dumps(tree, indent=2).encode()

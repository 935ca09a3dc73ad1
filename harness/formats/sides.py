# SPDX-License-Identifier: Apache-2.0
"""Who sent a request and how many users there were, of the first rows of one file or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.formats.arrays import BoolArray, CodeArray, FloatArray, with_rows


@dataclass(frozen=True, kw_only=True)
class SideColumns:
    """The first requests of a file in its order, shapes (n,); rows that sum up other rows are left out.

    ``thread``: a code for each thread of each host. ``host``: a code for each load generator. ``None``: the file
    has no such column. ``first_byte_ms``, ``connect_ms``: as written, in JMeter's milliseconds, whatever ``elapsed``
    is in. ``hosts``, ``services``: names of load generators, and of hosts in URLs.
    """

    start_s: FloatArray
    latency_s: FloatArray
    thread: CodeArray | None
    host: CodeArray | None
    all_threads: FloatArray | None
    first_byte_ms: FloatArray | None
    connect_ms: FloatArray | None
    hosts: tuple[str, ...] = ()
    services: frozenset[str] = frozenset()
    is_whole_file: bool

    @property
    def n_requests(self) -> int:
        """Rows that could be read."""
        return len(self.latency_s)

    @property
    def users(self) -> int | None:
        """The most users that all load generators together name (``allThreads`` is of one); ``None``: none does."""
        if self.all_threads is None:
            return None
        host = np.zeros(self.n_requests, dtype=np.int32) if self.host is None else self.host
        most = [
            np.nanmax(self.all_threads[host == item], initial=0.0)
            for item in np.unique(host[np.isfinite(self.all_threads)])
        ]
        return int(sum(most)) or None

    @cached_property
    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Of requests that another one of the same thread follows: latency, and time from start to start."""
        if self.thread is None:
            return np.zeros(0), np.zeros(0)
        order = np.lexsort((self.start_s, self.thread))
        same = np.diff(self.thread[order]) == 0
        return self.latency_s[order][:-1][same], np.diff(self.start_s[order])[same]

    @property
    def joined_engines(self) -> float:
        """How many times the requests of one thread overlap: 1 for a thread, more where several bear one name."""
        busy, gap = self.pairs
        return float(busy.sum() / (gap.sum() + len(gap) * 1e-3)) if len(gap) else 1.0

    def rows(self, keep: BoolArray) -> SideColumns:
        """Return only some of the requests."""
        return with_rows(self, keep)


def side_columns_together(files: Sequence[SideColumns]) -> SideColumns:
    """Return the rows of files of several load generators: their threads and hosts are different ones."""
    first_thread = first_host = 0
    apart = []
    for item in files:
        n_hosts = 1 if item.host is None else int(item.host.max(initial=0)) + 1
        host = np.zeros(item.n_requests, dtype=np.int32) if item.host is None else item.host
        apart.append(
            replace(
                item,
                thread=None if item.thread is None else item.thread + first_thread,
                host=host + first_host,
            )
        )
        first_thread += 0 if item.thread is None else int(item.thread.max(initial=0)) + 1
        first_host += n_hosts
    columns = {item.name: [getattr(file, item.name) for file in apart] for item in fields(SideColumns)}
    arrays: dict[str, Any] = {
        name: None if any(item is None for item in each) else np.concatenate(each)
        for name, each in columns.items()
        if name not in {"hosts", "services", "is_whole_file"}
    }
    return replace(
        files[0],
        **arrays,
        hosts=tuple(name for file in files for name in file.hosts),
        services=frozenset().union(*(file.services for file in files)),
        is_whole_file=all(file.is_whole_file for file in files),
    )

# SPDX-License-Identifier: Apache-2.0
"""The files that load tool, samplers and database of a made-up trial leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

N_REQUESTS = 1200
#: Connections to the upstream that the made-up published Go opens under load.
OPENED_PUBLISHED = 800


def write_jtl(path: Path, begun_ms: NDArray[np.int_], elapsed_ms: NDArray[np.int_], label: str) -> None:
    """Write requests that were all answered rightly, as JMeter does; arrays of whole milliseconds, shape (n,)."""
    pairs = zip(begun_ms.tolist(), elapsed_ms.tolist(), strict=True)
    lines = [f"{begun},{elapsed},{label},200,true\n" for begun, elapsed in pairs]
    path.write_text("timeStamp,elapsed,label,responseCode,success\n" + "".join(lines), "utf-8")


def write_requests(
    folder: Path, start_epoch_s: float, lasts_s: float, mean_s: float, rng: np.random.Generator
) -> None:
    elapsed = np.maximum(np.round(rng.lognormal(np.log(mean_s) - 0.3, 0.77, N_REQUESTS) * 1e3), 1).astype(int)
    begun = np.round((start_epoch_s + np.sort(rng.uniform(0, lasts_s, N_REQUESTS))) * 1e3).astype(int)
    write_jtl(folder / "load" / "samples.jtl", begun, elapsed, "uppercase")


def write_database(folder: Path, launched_epoch_s: float, until_s: float) -> None:
    seconds = np.arange(0, until_s + 0.1, 0.1)
    names = (
        "epoch_s", "n_active", "n_idle", "n_idle_in_transaction", "n_starting", "n_waiting_for_lock",
        "n_locks_not_granted", "deadlocks", "xact_commit", "xact_rollback",
    )  # fmt: skip
    pairs = zip((launched_epoch_s + seconds).tolist(), (seconds * 100).astype(int).tolist(), strict=True)
    lines = [f"{at_s},3,5,0,0,0,0,0,{committed},0\n" for at_s, committed in pairs]
    (folder / "database.csv").write_text(",".join(names) + "\n" + "".join(lines), "utf-8")


def write_opened(folder: Path, boundary: str, published: bool) -> str:
    """Go's count of connections to the upstream: the published face opens one for most requests."""
    opened = {"before-load": 30, "after-load": OPENED_PUBLISHED + 30 if published else 30}[boundary]
    name = f"boundary-{boundary}.prom"
    (folder / name).write_text(f"upstream_connections_opened_total {opened}\n", "utf-8")
    return name


def write_samples(folder: Path, begun: float, memory: float, until_s: float) -> None:
    seconds = np.arange(0, until_s + 0.06, 0.05)
    at_s = (begun + seconds).tolist()
    held = (memory * (0.4 + 0.6 * (1 - np.exp(-seconds)))).astype(int).tolist()
    lines = [
        f"{at},{role},{rss},{cpu},9,20\n"
        for role, share in (("service", 1.2), ("generator", 0.7))
        for at, rss, cpu in zip(at_s, held, (seconds * share).tolist(), strict=True)
    ]
    header = "monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors\n"
    (folder / "samples.csv").write_text(header + "".join(lines), "utf-8")

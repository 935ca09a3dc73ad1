# SPDX-License-Identifier: Apache-2.0
"""The files that load tool, samplers and database of a made-up trial leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

N_REQUESTS = 1200
#: Connections to the upstream that the made-up published Go opens under load.
OPENED_PUBLISHED = 800


def write_requests(
    folder: Path, start_epoch_s: float, lasts_s: float, mean_s: float, rng: np.random.Generator
) -> None:
    elapsed = np.maximum(np.round(rng.lognormal(np.log(mean_s) - 0.3, 0.77, N_REQUESTS) * 1e3), 1).astype(int)
    frame = pd.DataFrame(
        {
            "timeStamp": np.round(
                (start_epoch_s + np.sort(rng.uniform(0, lasts_s, N_REQUESTS))) * 1e3
            ).astype(int),
            "elapsed": elapsed,
            "label": "uppercase",
            "responseCode": 200,
            "success": "true",
        }
    )
    frame.to_csv(folder / "load" / "samples.jtl", index=False)


def write_database(folder: Path, launched_epoch_s: float, until_s: float) -> None:
    seconds = np.arange(0, until_s + 0.1, 0.1)
    names = (
        "n_active", "n_idle", "n_idle_in_transaction", "n_starting", "n_waiting_for_lock", "n_locks_not_granted",
        "deadlocks", "xact_commit", "xact_rollback",
    )  # fmt: skip
    frame = pd.DataFrame({"epoch_s": launched_epoch_s + seconds} | dict.fromkeys(names, 0))
    frame.assign(n_active=3, n_idle=5, xact_commit=(seconds * 100).astype(int)).to_csv(
        folder / "database.csv", index=False
    )


def write_opened(folder: Path, boundary: str, published: bool) -> str:
    """Go's count of connections to the upstream: the published face opens one for most requests."""
    opened = {"before-load": 30, "after-load": OPENED_PUBLISHED + 30 if published else 30}[boundary]
    name = f"boundary-{boundary}.prom"
    (folder / name).write_text(f"upstream_connections_opened_total {opened}\n", "utf-8")
    return name


def write_samples(folder: Path, begun: float, memory: float, until_s: float) -> None:
    seconds = np.arange(0, until_s + 0.06, 0.05)
    frames = [
        pd.DataFrame(
            {
                "monotonic_s": begun + seconds,
                "role": role,
                "rss_bytes": (memory * (0.4 + 0.6 * (1 - np.exp(-seconds)))).astype(int),
                "cpu_s": seconds * share,
                "n_threads": 9,
                "n_descriptors": 20,
            }
        )
        for role, share in (("service", 1.2), ("generator", 0.7))
    ]
    pd.concat(frames).to_csv(folder / "samples.csv", index=False)

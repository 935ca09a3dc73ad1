# SPDX-License-Identifier: Apache-2.0
"""``python -m harness bench NAME``: benchmarks of the harness itself, as ratios within one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import InputError

if TYPE_CHECKING:
    from harness.bench.result import BenchResult
    from harness.session import Progress

#: In the order of the page.
BENCHMARKS = ("services", "ingest", "bootstrap", "sampler", "overhead")


def run_bench(
    name: str,
    root: Path,
    *,
    seed: int = 1,
    long_rows: Sequence[int] = (),
    profile: str = "quick",
    session: str | None = None,
    progress: Progress | None = None,
) -> BenchResult:
    """Run one benchmark.

    Args:
        name: one of ``BENCHMARKS``. long_rows: ingest only, rows of longer files. profile, progress: services
            only. session: overhead only, ``experiment/session``.

    Raises:
        InputError: no such benchmark, or what the benchmark itself refuses.
    """
    # imported when used: each needs other libraries, and some take a while to load
    if name == "services":
        from harness.bench.services import bench_services

        return bench_services(root, profile=profile, seed=seed, progress=progress)
    if name == "ingest":
        from harness.bench.ingest import bench_ingest

        return bench_ingest(root, seed=seed, long_rows=long_rows)
    if name == "bootstrap":
        from harness.bench.bootstrap import bench_bootstrap

        return bench_bootstrap(root, seed=seed)
    if name == "sampler":
        from harness.bench.sampler import bench_sampler

        return bench_sampler(root)
    if name == "overhead":
        from harness.bench.overhead import bench_overhead

        return bench_overhead(root, key=session)
    raise InputError("no such benchmark", place="NAME", found=name, allowed=", ".join((*BENCHMARKS, "all")))

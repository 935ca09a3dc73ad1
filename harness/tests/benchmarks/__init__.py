# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the harness itself, as ratios within one run; ``make bench`` runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import InputError
from harness.session import Progress
from harness.tests.benchmarks.bootstrap import bench_bootstrap
from harness.tests.benchmarks.ingest import bench_ingest
from harness.tests.benchmarks.overhead import bench_overhead
from harness.tests.benchmarks.result import BenchResult
from harness.tests.benchmarks.sampler import bench_sampler
from harness.tests.benchmarks.services import bench_services

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
    if name == "services":
        return bench_services(root, profile=profile, seed=seed, progress=progress)
    if name == "ingest":
        return bench_ingest(root, seed=seed, long_rows=long_rows)
    if name == "bootstrap":
        return bench_bootstrap(root, seed=seed)
    if name == "sampler":
        return bench_sampler(root)
    if name == "overhead":
        return bench_overhead(root, key=session)
    raise InputError("no such benchmark", place="NAME", found=name, allowed=", ".join((*BENCHMARKS, "all")))

# SPDX-License-Identifier: Apache-2.0
"""``python -m harness.tests.benchmarks NAME...``: one line a ratio; exit status 1: a target does not hold.

A target that others on the machine may have spoiled is no failure ("cannot say").
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import RematchError
from harness.project import find_root
from harness.provenance import describe_place
from harness.tests.benchmarks.ingest import bench_ingest
from harness.tests.benchmarks.ratio import Others, Ratio
from harness.tests.benchmarks.sampler import bench_sampler

BENCHMARKS: dict[str, Callable[[Path], Sequence[Ratio]]] = {
    "ingest": bench_ingest,
    "sampler": bench_sampler,
}


def main() -> int:
    """Run the benchmarks that are named, and print what they find."""
    parser = argparse.ArgumentParser(prog="python -m harness.tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="+", choices=(*BENCHMARKS, "all"))
    names = parser.parse_args().names
    root, failed = find_root(), False
    for name in BENCHMARKS if "all" in names else names:
        others = Others()
        try:
            ratios = BENCHMARKS[name](root)
        except RematchError as problem:
            print(f"{name}: not run: {problem}")
            failed = True
            continue
        busy = others.share()
        used = "an unknown share" if busy is None else f"{busy:.0%}"
        print(f"{name}: others used {used} of the machine meanwhile")
        for ratio in ratios:
            print(f"  {ratio.text(busy)}")
        failed |= any(ratio.holds(busy) is False for ratio in ratios)
    print(describe_place(root))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

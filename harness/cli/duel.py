# SPDX-License-Identifier: Apache-2.0
"""``rematch duel``: two versions of one service, asked the same and measured in turns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.project import find_root


def duel_command(
    first: Annotated[
        str, typer.Argument(metavar="V1", help="the older version: a folder, a git ref, or java:RELEASE")
    ],
    second: Annotated[str, typer.Argument(metavar="V2", help="the newer version, likewise")],
    adopted: Annotated[
        Path | None,
        typer.Option(
            "--as",
            help="experiment that rematch adopt wrote: its start command and contract are those of both; "
            "default: V1, a folder, is adopted first",
        ),
    ] = None,
    requests: Annotated[
        Path | None, typer.Option(help="requests of that adoption, as of rematch adopt; only without --as")
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option(help="folder of the git repository of the refs; default: that of the service's sources"),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="case whose answers may differ: it is not checked and not part of the load; may be repeated; "
            "all: every case"
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="limit on a ratio, V2 over V1, such as 'p99 > 1.05' or 'throughput < 0.95'; may be repeated"
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help="smoke (does it work? no verdict) or quick")] = "quick",
    blocks: Annotated[
        int | None,
        typer.Option(help="how often both are measured; default: as the experiment says; a verdict takes 5"),
    ] = None,
    generator: Annotated[
        str | None, typer.Option(help="load generator; default: the adopted experiment's")
    ] = None,
    rate: Annotated[
        str,
        typer.Option(
            help="second load of each process, requests per second, for a verdict on CPU time and latency; auto: two "
            "fifths of what the slower version reaches with the tool; none: only the load of the experiment"
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="random seed of the order within blocks")] = 1,
    ready_within: Annotated[
        float, typer.Option(help="seconds in which each has to give its first answer")
    ] = 60.0,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="check both against the contract; measure nothing")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="also write a Markdown page to this file, for a pull request")
    ] = None,
) -> None:
    """Compare two versions of one service, measured in turns, V2 over V1: ratio, interval, verdict for each metric.

    Before that both are asked every recorded request: a version that answers something else is shown, and the duel
    ends, unless --allow names the case. Then they are measured in blocks, each in a random order, and compared as
    `rematch results` does, under the load, warm-up and CPUs of the experiment, and then at a rate that both keep: CPU
    time per request has a verdict there also where the load generator is slower than the service. A git ref is checked
    out in a folder of its own, which is removed again; your checkout is not touched.

    Exit status 1: answers differ, or a limit of --fail-if is exceeded, that is, the whole 95 % interval lies beyond
    it. Exit status 2: a limit cannot be judged, or a version does not start.

    \b
    Examples:
        rematch duel ../shop-old ../shop-new --requests calls.curl
        rematch duel main HEAD --as shop-rematch/shop.toml --fail-if "p99 > 1.05" --markdown comment.md
        rematch duel java:21 java:25 --as shop-rematch/shop.toml
    """
    from harness.cli.duel_work import Work

    work = Work(
        root=find_root(), profile=profile, blocks=blocks, generator=generator, seed=seed, ready_s=ready_within,
        quiet=as_json, allow=tuple(allow or ()), measures=not no_measure, rate=rate, adopted=adopted,
        requests=requests, repo=repo,
    )  # fmt: skip
    work.run(first, second, fail_if or (), markdown)

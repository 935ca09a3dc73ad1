# SPDX-License-Identifier: Apache-2.0
"""``rematch duel``: two versions of one service, asked the same and measured in turns."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.lines import complain, counted, say, wrapped
from harness.cli.options import end_with, limits_as_plain
from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.adopt import Workspace
    from harness.compare.limits import Checked, Limit
    from harness.compare.result import Row
    from harness.duel import Agreement, Duel, Rate, Side
    from harness.rows.session_results import Results
    from harness.session import Assembly


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
    from harness.compare.limits import check_row, limit_named
    from harness.duel import rows_of
    from harness.evidence.metrics import METRICS
    from harness.session import Interrupted

    limits = [limit_named(text, [item.name for item in METRICS]) for text in fail_if or ()]
    for limit in limits:
        if limit.label is not None:
            raise InputError(
                "has no label: all requests are one metric here", place="--fail-if", found=limit.text
            )
    work = _Work(
        root=find_root(), profile=profile, blocks=blocks, generator=generator, seed=seed, ready_s=ready_within,
        quiet=as_json, allow=tuple(allow or ()), measures=not no_measure, rate=rate,
    )  # fmt: skip
    try:
        pair, agreed, result = work.go(first, second, adopted, requests, repo)
    except Interrupted as stop:
        complain(f"rematch: stopped by {stop}; nothing runs on")
        raise typer.Exit(stop.exit_code) from None
    rows = () if result is None else rows_of(result)
    checked = [check_row(limit, _row(limit, rows)) for limit in limits] if result is not None else []
    if markdown is not None:
        from harness.cli.results_text import duel_markdown
        from harness.report.output import write_page

        write_page(markdown, duel_markdown(pair, agreed, result, checked), "--markdown")
    if as_json:
        print(json.dumps(_as_plain(pair, agreed, result, checked), indent=1, allow_nan=False))
    elif result is not None:
        _print(result, checked)
    _end(agreed, work.allow, result, checked)


class _Work:
    """One duel, from its files to its results."""

    def __init__(
        self, *, root: Path, profile: str, blocks: int | None, generator: str | None, seed: int, ready_s: float,
        quiet: bool, allow: tuple[str, ...], measures: bool, rate: str,
    ) -> None:  # fmt: skip
        self.root, self.profile, self.blocks, self.generator = root, profile, blocks, generator
        self.seed, self.ready_s, self.quiet, self.allow, self.measures = seed, ready_s, quiet, allow, measures
        self.rate = rate

    def go(
        self, first: str, second: str, adopted: Path | None, requests: Path | None, repo: Path | None
    ) -> tuple[tuple[Side, Side], Agreement, Results | None]:
        from harness.duel import set_up, sides
        from harness.duel.files import source_of
        from harness.session import assemble
        from harness.session.signals import interruptible

        with contextlib.ExitStack() as cleanup:
            assembly = cleanup.enter_context(contextlib.closing(assemble(self.root)))
            cleanup.enter_context(interruptible())
            place = self._place(first, adopted, requests, assembly)
            pair = cleanup.enter_context(sides(first, second, source_of(place), repo))
            for side in pair:
                if side.remark:
                    self.say(f"{side.what}: {side.remark}")
            folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="rematch-duel-")))
            duel = set_up(place, pair, folder, self.generator, rate=self._rate(place, assembly))
            agreed = self._replayed(duel, assembly)
            if not self.measures or (agreed.cases and not self._allowed(agreed)):
                return pair, agreed, None
            left_out = {*agreed.cases, *(name for name in self.allow if name != "all")}
            return pair, agreed, self._measured(duel, assembly, left_out)

    def say(self, text: str) -> None:
        if not self.quiet:
            print(wrapped(text, hang="  "), flush=True)

    def _place(
        self, first: str, adopted: Path | None, requests: Path | None, assembly: Assembly
    ) -> Workspace:
        from harness.adopt import Order, Workspace, adopt, workspace_of

        if adopted is not None:
            if requests is not None:
                raise InputError(
                    "the contract of --as is recorded already", place="--requests", found=str(requests)
                )
            if adopted.suffix != ".toml":
                raise InputError(
                    "no experiment", place="--as", found=str(adopted), allowed="NAME-rematch/NAME.toml"
                )
            return Workspace(folder=adopted.parent, name=adopted.stem, service=adopted.stem)
        if not Path(first).is_dir():
            raise InputError(
                "is no folder, so nothing says how it is started", place="V1", found=first,
                allowed="a folder; or the experiment that rematch adopt wrote: --as NAME-rematch/NAME.toml",
            )  # fmt: skip
        order = Order(folder=Path(first), requests=requests, ready_s=self.ready_s)
        place = workspace_of(order)
        if requests is None and (place.contract / "requests.jsonl").is_file():
            self.say(f"adopted before: {place.experiment}")
            return place
        return adopt(order, assembly, self.say).workspace

    def _rate(self, place: Workspace, assembly: Assembly) -> Rate | None:
        from harness.duel import Rate
        from harness.duel.files import rate_tool

        given = None if self.rate in ("auto", "none") else _number(self.rate)
        if self.rate == "none" or self.profile == "smoke" or not self.measures:
            return None
        tool = rate_tool(assembly, place.contract)
        if tool is None and given is not None:
            raise InputError(
                "no load tool here offers a rate", place="--rate", allowed="after: make setup (k6)"
            )
        if tool is None:
            self.say(
                "no load tool here offers a rate, at which CPU time per request has a verdict: make setup (k6)"
            )
        return None if tool is None else Rate(generator=tool, per_s=given)

    def _replayed(self, duel: Duel, assembly: Assembly) -> Agreement:
        from harness.duel import replay

        agreed = replay(duel, assembly, ready_s=self.ready_s, say=self.say)
        n_alike = agreed.n_cases - len(agreed.cases)
        self.say(f"answers: {n_alike} of {counted(agreed.n_cases, 'case')} as recorded, by both")
        for label, faults in agreed.differences.items():
            for case, text in faults.items():
                self.say(f"  {label}: {case}: {text}")
        return agreed

    def _allowed(self, agreed: Agreement) -> bool:
        return "all" in self.allow or set(agreed.cases) <= set(self.allow)

    def _measured(self, duel: Duel, assembly: Assembly, left_out: set[str]) -> Results:
        from harness.cli.check import busy_warning
        from harness.cli.results_session import read_results
        from harness.duel import agreed_contract
        from harness.session import Silent, measure, prepare, suitable_progress, with_blocks

        agreed_contract(duel, left_out)
        warning = None if self.quiet else busy_warning()
        if warning is not None:
            self.say(warning)
        prepared = prepare(assembly, str(duel.experiment), profile=self.profile, host="local", seed=self.seed)
        for gone in prepared.unavailable:
            raise InputError(f"cannot run here: {gone.reason}", place=gone.variant)
        if self.blocks is not None:
            prepared = with_blocks(prepared, self.blocks)
        progress = Silent() if self.quiet else suitable_progress()
        folder = measure(assembly, prepared, progress=progress, new=True)
        return read_results(self.root, folder)


def _number(text: str) -> float:
    try:
        result = float(text)
    except ValueError:
        result = 0.0
    if not 1 <= result < float("inf"):
        raise InputError("no rate", place="--rate", found=text, allowed="requests per second, auto, or none")
    return result


def _row(limit: Limit, rows: Sequence[Row]) -> Row:
    """Return the row that a limit is about, of several loads the first with a verdict; one without a verdict where no
    trial has the metric."""
    from harness.compare.result import Row

    missing = Row(metric=limit.metric, label=None, a=None, b=None, why="no trial has this metric")
    own = [row for row in rows if row.metric == limit.metric]
    return next((row for row in own if row.verdict is not None), own[0] if own else missing)


def _print(results: Results, checked: Sequence[Checked]) -> None:
    from harness.cli.results_text import print_results
    from harness.compare.words import limit_words

    print()
    print_results(results)
    for item in checked:
        say(limit_words(item), hang="  ")
    name, session = results.session.split("/")
    print(f"Again: rematch results {name} --session {session}")


def _end(
    agreed: Agreement, allow: Sequence[str], results: Results | None, checked: Sequence[Checked]
) -> None:
    """End with the status that a program reads."""
    refused = [] if "all" in allow else [case for case in agreed.cases if case not in allow]
    if refused:
        words = (
            f"answers differ in {counted(len(refused), 'case')}, so nothing is measured: {', '.join(refused)}"
        )
        complain(f"rematch: {words}; allowed: --allow {refused[0]}, or --allow all")
        raise typer.Exit(1)
    if results is not None and not results.n_kept:
        raise typer.Exit(1)
    end_with(checked)


def _as_plain(
    pair: tuple[Side, Side], agreed: Agreement, results: Results | None, checked: Sequence[Checked]
) -> dict[str, object]:
    from harness.cli.results_session import as_plain

    return {
        "versions": [{"label": side.label, "what": side.what, "remark": side.remark} for side in pair],
        "cases": agreed.n_cases,
        "differences": agreed.differences,
        "results": None if results is None else as_plain(results),
        "limits": limits_as_plain(checked),
    }

# SPDX-License-Identifier: Apache-2.0
"""A duel from its files to its results, and these in words."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from harness.adopt import Order, Workspace, adopt, workspace_of
from harness.cli.check_here import busy_warning
from harness.cli.lines import complain, counted, say, wrapped
from harness.cli.options import end_with, limits_as_plain
from harness.cli.results_session import as_plain, read_results
from harness.cli.results_text import HEADS, cells_of, heading, print_results
from harness.compare.limits import check_row, limit_named
from harness.compare.result import Row
from harness.compare.words import escaped, limit_words
from harness.duel import Agreement, Duel, Rate, Side, agreed_contract, replay, rows_of, set_up, sides
from harness.duel.files import rate_tool, source_of
from harness.errors import InputError
from harness.evidence.metrics import METRICS
from harness.report.limits import Checked, Limit
from harness.report.output import write_page
from harness.rows.session_results import Results
from harness.session import (
    Assembly,
    Interrupted,
    Silent,
    assemble,
    measure,
    prepare,
    suitable_progress,
    with_blocks,
)
from harness.session.signals import interruptible


@dataclass(frozen=True, kw_only=True)
class Work:
    """One duel, as it was asked for: the options of the command."""

    root: Path
    profile: str
    blocks: int | None
    generator: str | None
    seed: int
    ready_s: float
    quiet: bool
    allow: tuple[str, ...]
    measures: bool
    rate: str
    adopted: Path | None
    requests: Path | None
    repo: Path | None

    def run(self, first: str, second: str, fail_if: Sequence[str], markdown: Path | None) -> None:
        """Replay, measure and print; end with the status that a program reads.

        Raises:
            InputError: a limit, a version or an option cannot be used. typer.Exit: the status.
        """
        limits = [limit_named(text, [item.name for item in METRICS]) for text in fail_if]
        for limit in limits:
            if limit.label is not None:
                raise InputError(
                    "has no label: all requests are one metric here", place="--fail-if", found=limit.text
                )
        try:
            pair, agreed, result = self._go(first, second)
        except Interrupted as stop:
            complain(f"rematch: stopped by {stop}; nothing runs on")
            raise typer.Exit(stop.exit_code) from None
        rows = () if result is None else rows_of(result)
        checked = [check_row(limit, _row(limit, rows)) for limit in limits] if result is not None else []
        if markdown is not None:
            write_page(markdown, _markdown(pair, agreed, result, checked), "--markdown")
        if self.quiet:
            print(json.dumps(_as_plain(pair, agreed, result, checked), indent=1, allow_nan=False))
        elif result is not None:
            _print(result, checked)
        _end(agreed, self.allow, result, checked)

    def _go(self, first: str, second: str) -> tuple[tuple[Side, Side], Agreement, Results | None]:
        with contextlib.ExitStack() as cleanup:
            assembly = cleanup.enter_context(contextlib.closing(assemble(self.root)))
            cleanup.enter_context(interruptible())
            place = self._place(first, assembly)
            pair = cleanup.enter_context(sides(first, second, source_of(place), self.repo))
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

    def _place(self, first: str, assembly: Assembly) -> Workspace:
        adopted, requests = self.adopted, self.requests
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
    missing = Row(metric=limit.metric, label=None, a=None, b=None, why="no trial has this metric")
    own = [row for row in rows if row.metric == limit.metric]
    return next((row for row in own if row.verdict is not None), own[0] if own else missing)


def _print(results: Results, checked: Sequence[Checked]) -> None:
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
    return {
        "versions": [{"label": side.label, "what": side.what, "remark": side.remark} for side in pair],
        "cases": agreed.n_cases,
        "differences": agreed.differences,
        "results": None if results is None else as_plain(results),
        "limits": limits_as_plain(checked),
    }


def _markdown(
    pair: tuple[Side, Side], agreed: Agreement, results: Results | None, checked: Sequence[Checked]
) -> str:
    """Return what both versions are, where their answers differ, limits, and a table of all metrics."""
    before, after = pair
    lines = [f"**{escaped(after.label)} against {escaped(before.label)}**", ""]
    lines += [
        f"- `{side.label}`: {escaped(', '.join(filter(None, (side.what, side.remark))))}" for side in pair
    ]
    n_alike = agreed.n_cases - len(agreed.cases)
    lines.append(f"- answers: {n_alike} of {agreed.n_cases} cases as recorded")
    for label, faults in agreed.differences.items():
        lines += [f"- {escaped(label)}: {escaped(case)}: {escaped(text)}" for case, text in faults.items()]
    lines += [f"- {escaped(limit_words(item))}" for item in checked]
    if results is None:
        return "\n".join([*lines, "- not measured"]) + "\n"
    lines += ["", "| metric | " + " | ".join(HEADS) + " |", "|---|---|--:|--:|---|---|"]
    for metric in results.metrics:
        for cell in results.cells(metric):
            for row in cells_of(cell, metric, conclusive=results.conclusive):
                lines.append("| " + " | ".join(map(escaped, (heading(metric), *row))) + " |")
    retained = f"{results.n_kept} of {results.n_made} trials in {results.n_blocks} blocks"
    return "\n".join([*lines, "", f"- session {escaped(results.session)}: {retained}"]) + "\n"

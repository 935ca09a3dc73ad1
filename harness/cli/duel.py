# SPDX-License-Identifier: Apache-2.0
"""``rematch duel``: two versions of one service, asked the same and measured in turns."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.adopt import Order, Workspace, adopt, workspace_of
from harness.adopt.duel import Rate, agreed_contract, replay, set_up, sides
from harness.adopt.duel.files import rate_tool, source_of
from harness.analysis.evidence.metrics import METRICS
from harness.cli.check_here import busy_warning
from harness.cli.measure import measure_anew, stopping
from harness.cli.options import (
    AsJson,
    Blocks,
    Profile,
    ReadyWithin,
    Requests,
    complain,
    end_with,
    fields_of,
    limits_as_plain,
    say,
)
from harness.cli.results import as_plain, print_results, read_results
from harness.errors import InputError
from harness.measure.session import Assembly, assemble
from harness.measure.session.signals import interruptible
from harness.model import Verdict
from harness.model.age import YOUNG
from harness.model.digits import spoken
from harness.model.formatting import counted
from harness.project import find_root
from harness.report.compare.comparing import limit_named
from harness.report.compare.words import limit_words
from harness.report.limits import PLACE, Checked, Limit, Outcome, judged
from harness.rows.session_results import Results
from harness.rows.text import is_young

Say = Callable[[str], None]


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
    requests: Requests = None,
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
    profile: Profile = "quick",
    blocks: Blocks = None,
    rate: Annotated[
        str,
        typer.Option(
            help="second load of each process, requests per second, for a verdict on CPU time and latency; auto: two "
            "fifths of what the slower version reaches with the tool; none: only the load of the experiment"
        ),
    ] = "auto",
    ready_within: ReadyWithin = 60.0,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="check both against the contract; measure nothing")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of one service, measured in turns, V2 over V1: ratio, interval, verdict for each metric.

    Before that both are asked every recorded request: a version that answers something else is shown, and the duel
    ends, unless --allow names the case. Then they are measured in blocks, each in a random order, and compared as
    `rematch results` does, under the load, warm-up and CPUs of the experiment, and then at a rate that both keep: CPU
    time per request has a verdict there also where the load generator is slower than the service. The files of a git
    ref are written to a folder of their own, which is removed again; your checkout is not touched.

    Exit status 1: answers differ, or a limit of --fail-if is exceeded, that is, the whole 95 % interval lies beyond
    it. Exit status 2: a limit cannot be judged, or a version does not start.

    \b
    Examples:
        rematch duel ../shop-old ../shop-new --requests calls.curl
        rematch duel main HEAD --as shop-rematch/shop.toml --fail-if "p99 > 1.05"
        rematch duel java:21 java:25 --as shop-rematch/shop.toml
    """
    limits = [limit_named(text, [item.name for item in METRICS]) for text in fail_if or ()]
    for text in [limit.text for limit in limits if limit.label is not None]:
        raise InputError("has no label: all requests are one metric here", place=PLACE, found=text)
    per_s, allowed = _rate(rate), set(allow or ())
    tell: Say = (lambda _text: None) if as_json else partial(say, hang="  ")
    results: Results | None = None
    with stopping("nothing runs on"), contextlib.ExitStack() as cleanup:
        assembly = cleanup.enter_context(contextlib.closing(assemble(find_root())))
        cleanup.enter_context(interruptible())
        place = _adopted(first, adopted, requests, ready_within, assembly, tell)
        pair = cleanup.enter_context(sides(first, second, source_of(place)))
        for side in pair:
            if side.remark:
                tell(f"{side.what}: {side.remark}")
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="rematch-duel-")))
        offered = None
        if rate != "none" and profile != "smoke" and not no_measure:
            offered = _offered(per_s, place, assembly, tell)
        duel = set_up(place, pair, folder, rate=offered)
        agreed = replay(duel, assembly, ready_s=ready_within, say=tell)
        n_alike = agreed.n_cases - len(agreed.cases)
        tell(f"answers: {n_alike} of {counted(agreed.n_cases, 'case')} as recorded, by both")
        faults = [(label, *fault) for label, each in agreed.differences.items() for fault in each.items()]
        for label, case, text in faults:
            tell(f"  {label}: {case}: {text}")
        refused = [] if "all" in allowed else [case for case in agreed.cases if case not in allowed]
        if not no_measure and not refused:
            agreed_contract(duel, {*agreed.cases, *allowed})
            if not as_json and (warning := busy_warning()) is not None:
                tell(warning)
            session = measure_anew(assembly, str(duel.experiment), profile, blocks=blocks, silent=as_json)
            results = read_results(assembly.root, session)
    checked = [] if results is None else [_checked(limit, results) for limit in limits]
    if as_json:
        plain = {
            "versions": [fields_of(side, "label", "what", "remark") for side in pair],
            "cases": agreed.n_cases,
            "differences": agreed.differences,
            "results": None if results is None else as_plain(results),
            "limits": limits_as_plain(checked),
        }
        print(json.dumps(plain, indent=1, allow_nan=False))
    elif results is not None:
        print()
        print_results(results)
        for item in checked:
            say(limit_words(item), hang="  ")
        print(f"Again: rematch results {results.session.replace('/', ' --session ')}")
    if refused:
        cases = f"{counted(len(refused), 'case')}, so nothing is measured: {', '.join(refused)}"
        complain(f"rematch: answers differ in {cases}; allowed: --allow {refused[0]}, or --allow all")
    if refused or (results is not None and not results.n_kept):
        raise typer.Exit(1)
    end_with(checked)


def _rate(text: str) -> float | None:
    """Return the requests per second that were asked for; ``None``: a number is not given."""
    if text in ("auto", "none"):
        return None
    try:
        result = float(text)
    except ValueError:
        result = 0.0
    if not 1 <= result < float("inf"):
        raise InputError("no rate", place="--rate", found=text, allowed="requests per second, auto, or none")
    return result


def _adopted(
    first: str, adopted: Path | None, requests: Path | None, ready_s: float, assembly: Assembly, tell: Say
) -> Workspace:
    """Return the adopted service; without ``adopted``, adopt the first version."""
    if adopted is not None:
        if requests is not None:
            problem = "the contract of --as is recorded already"
            raise InputError(problem, place="--requests", found=str(requests))
        if adopted.suffix != ".toml":
            allowed = "NAME-rematch/NAME.toml"
            raise InputError("no experiment", place="--as", found=str(adopted), allowed=allowed)
        return Workspace(folder=adopted.parent, name=adopted.stem, service=adopted.stem)
    if not Path(first).is_dir():
        raise InputError(
            "is no folder, so nothing says how it is started", place="V1", found=first,
            allowed="a folder; or the experiment that rematch adopt wrote: --as NAME-rematch/NAME.toml",
        )  # fmt: skip
    order = Order(folder=Path(first), requests=requests, ready_s=ready_s)
    place = workspace_of(order)
    if requests is None and (place.contract / "requests.jsonl").is_file():
        tell(f"adopted before: {place.experiment}")
        return place
    return adopt(order, assembly, tell).workspace


def _offered(per_s: float | None, place: Workspace, assembly: Assembly, tell: Say) -> Rate | None:
    """Return the second load; ``None``: no load tool here offers a rate, which is told."""
    tool = rate_tool(assembly, place.contract)
    if tool is not None:
        return Rate(generator=tool, per_s=per_s)
    if per_s is not None:
        raise InputError("no load tool here offers a rate", place="--rate", allowed="after: make setup (k6)")
    tell("no load tool here offers a rate, at which CPU time per request has a verdict: make setup (k6)")
    return None


def _checked(limit: Limit, results: Results) -> Checked:
    """Hold a limit against the ratio of its metric, of several loads the first with a verdict."""
    metrics = [metric for metric in results.metrics if metric.name == limit.metric]
    lines = [line for metric in metrics for cell in results.cells(metric) for line in cell.lines[1:]]
    rows = [line.ratio for line in lines if line.ratio is not None]
    decided = [row for row in rows if row["verdict"] != Verdict.NOT_ABOUT_SERVICES and row["low"] is not None]
    outcome: Outcome = "cannot be told"
    if not rows:
        why = "no trial of both versions has this metric"
    elif not results.conclusive:
        why = "smoke checks that everything works"
    elif not decided:
        why = rows[0]["why"] or "too few blocks for an interval"
    else:
        row = decided[0]
        outcome = judged(limit, row["low"], row["high"])
        outcome = "not shown" if outcome == "cannot be told" else outcome
        why = (
            f"{YOUNG} processes: " * is_young(row)
            + f"V2 over V1 {spoken(row['value'], row['low'], row['high'])}"
        )
    return Checked(limit=limit, outcome=outcome, text=f"{limit.text}: {outcome}: {why}")

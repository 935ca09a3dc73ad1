# SPDX-License-Identifier: Apache-2.0
"""A service that is adopted: its files, its first measurement, and both in words, as JSON and as a page."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path

import typer

from harness.adopt import Adopted, Order, adopt, workspace_of
from harness.adopt.adopting import Seen
from harness.adopt.capacity import Capacity, capacity_of
from harness.cli.check_here import busy_warning
from harness.cli.lines import say
from harness.cli.results_session import opened
from harness.cli.results_text import print_conclusion
from harness.errors import InputError
from harness.project import experiment_paths
from harness.report.html import page_style
from harness.report.output import write_page
from harness.rows.session_results import results_of
from harness.session import Interrupted, Silent, assemble, measure, prepare, suitable_progress, with_blocks
from harness.session.signals import interruptible

#: Blocks of the first measurement; the profile itself has as many as a comparison takes.
BLOCKS = 3


def run(root: Path, order: Order, *, profile: str | None, as_json: bool) -> bool:
    """Adopt a service, measure it and print what came of it; return whether a measurement gave a result, or none was
    asked for.

    Args:
        profile: of the measurement; ``None``: nothing is measured.

    Raises:
        InputError: it does not start, or the order cannot be used. typer.Exit: interrupted.
    """
    chosen = workspace_of(order).name
    _refuse_name(root, chosen)
    progress = (lambda _text: None) if as_json else say
    try:
        with contextlib.closing(assemble(root)) as assembly, interruptible():
            result = adopt(order, assembly, progress)
    except Interrupted as stop:
        print(f"rematch: stopped by {stop}; nothing of {chosen} runs on", file=sys.stderr)
        raise typer.Exit(stop.exit_code) from None
    if not as_json:
        _print(result)
    session = capacity = page = None
    if profile is not None:
        warning = None if as_json else busy_warning()
        if warning is not None:
            say(warning, hang="  ")
        session, capacity = _measured(root, result, profile, as_json=as_json)
    lines = _lines(result, capacity, session)
    if capacity is not None:
        page = result.workspace.experiment.with_suffix(".html")
        write_page(page, render_page(capacity, lines, result.seen), "--out")
    if as_json:
        print(json.dumps(_as_plain(result, session, page, capacity, lines), indent=1))
        return True
    if capacity is not None:
        say(capacity.headline, hang="  ")
        print(f"{page}: the same as a page\n")
    for part, text in lines.items():
        say(f"{part}: {text}", hang="  ")
    return session is None or capacity is not None


def _lines(adopted: Adopted, capacity: Capacity | None, session: str | None) -> dict[str, str]:
    """The last lines: what was started, what it is asked, what bounded it, how old it was, what comes next."""
    experiment = adopted.workspace.experiment
    results = "" if session is None else f"rematch results {session.replace('/', ' --session ')}; "
    why = "nothing was measured" if session is None else "no trial can be used, for the reasons above"
    return {
        "started": adopted.seen.started,
        "asked": adopted.seen.asked,
        "bounded": why if capacity is None else capacity.bounded.removeprefix("bounded "),
        "age": why if capacity is None else capacity.how_old,
        "next": f"{results}rematch measure {experiment} --new; rematch duel V1 V2 --as {experiment}",
    }


def _refuse_name(root: Path, name: str) -> None:
    if name in experiment_paths(root) or (root / "services" / name).is_dir():
        raise InputError(
            "a name of this project's own",
            place="--name",
            found=name,
            allowed=f"another one, such as my-{name}",
        )


def _measured(root: Path, adopted: Adopted, profile: str, *, as_json: bool) -> tuple[str, Capacity | None]:
    """Measure a session anew; return its key, and what it says unless no trial was kept."""
    with contextlib.closing(assemble(root)) as assembly:
        prepared = prepare(assembly, str(adopted.workspace.experiment), profile=profile, host="local", seed=1)
        if profile != "smoke":
            prepared = with_blocks(prepared, BLOCKS)
        try:
            folder = measure(
                assembly, prepared, progress=Silent() if as_json else suitable_progress(), new=True
            )
        except Interrupted as stop:
            print(f"rematch: stopped by {stop}; nothing runs on", file=sys.stderr)
            raise typer.Exit(stop.exit_code) from None
    evidence = opened(root, folder)
    results = results_of(evidence)
    if not as_json and results.n_kept < results.n_made:
        print_conclusion(results)
    return folder.key, capacity_of(evidence)


def _print(adopted: Adopted) -> None:
    place = adopted.workspace
    if adopted.guess is not None:
        for part, why in adopted.guess.why.items():
            value = getattr(adopted.guess, part)
            text = shlex.join(value) if isinstance(value, tuple) else value
            say(f"{part}: {text or 'nothing'}  ({why})", hang="  ")
        for remark in adopted.guess.remarks:
            say(remark, hang="  ")
    say(f"requests of {adopted.seen.source}:", hang="  ")
    for item in adopted.seen.recording.recorded:
        marks = []
        if item.volatile:
            marks.append(f"masked: {', '.join(item.volatile)}")
        if item.compared == "status":
            marks.append("status alone")
        if item.note:
            marks.append(item.note)
        end = f" ({'; '.join(marks)})" if marks else ""
        say(f"{item.asked.method} {item.asked.path}: {item.status}{end}", indent="  ", hang="    ")
    for left in (*adopted.seen.listed.left_out, *adopted.seen.recording.left_out):
        say(f"left out: {left}", indent="  ", hang="    ")
    for remark in adopted.seen.listed.remarks:
        say(f"not sent: {remark}", indent="  ", hang="    ")
    n_lines = len(place.service_toml.read_text("utf-8").splitlines())
    print(f"{place.service_toml}: {n_lines} lines")
    print(f"{place.experiment}: the experiment, with each guess as a comment")


def _as_plain(
    adopted: Adopted, session: str | None, page: Path | None, capacity: Capacity | None, lines: dict[str, str]
) -> dict[str, object]:
    place, guess, seen = adopted.workspace, adopted.guess, adopted.seen
    return {
        "name": place.name,
        "experiment": str(place.experiment),
        "service_toml": str(place.service_toml),
        "contract": str(place.contract),
        "guess": None if guess is None else {
            "language": guess.language, "framework": guess.framework, "build": list(guess.build),
            "start": list(guess.start), "why": guess.why, "remarks": list(guess.remarks),
        },
        "requests_from": seen.source,
        "requests": [
            {
                "name": item.asked.name, "method": item.asked.method, "path": item.asked.path, "status": item.status,
                "compared": item.compared, "volatile": list(item.volatile), "in_load": item.repeatable,
                "note": item.note,
            }
            for item in seen.recording.recorded
        ],
        "left_out": list(seen.left_out),
        "processes": list(seen.processes),
        "session": session,
        "capacity": None if capacity is None else {
            "value": capacity.rate.value, "low": capacity.rate.low, "high": capacity.rate.high,
            "noise": capacity.noise, "bound_by": capacity.bound_by, "requests": capacity.n_requests,
            "errors": capacity.n_errors, "age": None if capacity.age is None else capacity.age.age,
            "headline": capacity.headline,
        },
        "lines": lines,
        "page": None if page is None else str(page),
    }  # fmt: skip


def render_page(capacity: Capacity, lines: Mapping[str, str], seen: Seen) -> str:
    """Return the page of an adopted service; nothing in it is loaded from anywhere."""
    sentence = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines.items())
    rows = "".join(
        "<tr>" + "".join(f'<td class="text">{escape(cell)}</td>' for cell in cells) + "</tr>"
        for cells in _request_rows(seen)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Capacity of {escape(capacity.name)}</title>
<style>
{page_style()}</style></head><body>
<h1>{escape(capacity.headline)}</h1>
<dl>{sentence}</dl>
<div class="scroll"><table><caption>Requests</caption>
<tr><th>request</th><th class="text">status</th><th class="text">part of the load</th>
<th class="text">compared</th></tr>
{rows}</table></div>
</body></html>
"""


def _request_rows(seen: Seen) -> list[tuple[str, ...]]:
    return [
        (
            f"{item.asked.method} {item.asked.path}",
            str(item.status),
            "yes" if item.repeatable else item.note or "no",
            " without ".join(filter(None, (item.compared, ", ".join(item.volatile)))),
        )
        for item in seen.recording.recorded
    ]

# SPDX-License-Identifier: Apache-2.0
"""``rematch adopt``: the files that a measurement of one's own service needs, written and tried."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.lines import counted, wrapped
from harness.errors import InputError
from harness.project import experiment_paths, find_root

if TYPE_CHECKING:
    from harness.adopt import Adopted

#: What the load tool of the profile `smoke` wrote of every request.
SAMPLES = "load/samples.csv"


def adopt_command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="folder of the service, anywhere; nothing is written into it"),
    ],
    requests: Annotated[
        Path | None,
        typer.Option(
            help="what the service is asked: an OpenAPI document, a HAR file, or lines that begin with curl; default: "
            "such a file in DIR, else the service's own document, else paths in its sources"
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="start command in place of the guess; {port} stands for the port, {host} for the address"
        ),
    ] = None,
    build: Annotated[
        str | None, typer.Option(help="build command in place of the guess; '': nothing is built")
    ] = None,
    name: Annotated[str | None, typer.Option(help="name of the experiment; default: that of DIR")] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the files; default: NAME-rematch in this folder")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="guess again, even if service.toml exists")] = False,
    ready_within: Annotated[
        float, typer.Option(help="seconds in which it has to give its first answer")
    ] = 60.0,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="write and try the files, and measure nothing")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Write down how a service is started and what it answers, and measure it.

    Supported are Go, Maven, Gradle, jars, Node.js and Python, and Procfile, Dockerfile and Compose files. These
    files are written: NAME.toml, the experiment, with each guess as a comment;
    services/NAME/NAME/service.toml, of at most 12 lines, with the start command; the contract, which has every
    request with the answer that the service gives now; and NAME.html, a page of what was measured. Each request
    is sent twice to one process and once to another one; values that change are masked.

    A wrong guess ends in one line with the line of service.toml to change. The same command continues with the changed
    file. No process is left running.

    Examples:

        rematch adopt ../shop

        rematch adopt ../shop --requests shop.har --no-measure

        rematch adopt ../shop --start "node app.js --port {port}" --requests calls.curl
    """
    from harness.adopt import Order, adopt, workspace_of
    from harness.session import Interrupted, assemble
    from harness.session.signals import interruptible

    root = find_root()
    order = Order(
        folder=folder,
        out=out,
        name=name,
        start=start,
        build=build,
        requests=requests,
        ready_s=ready_within,
        again=again,
    )
    chosen = workspace_of(order).name
    _refuse_name(root, chosen)
    say = (lambda _text: None) if as_json else (lambda text: print(wrapped(text), flush=True))
    try:
        with contextlib.closing(assemble(root)) as assembly, interruptible():
            found = adopt(order, assembly, say)
    except Interrupted as stop:
        print(f"rematch: stopped by {stop}; nothing of {chosen} runs on", file=sys.stderr)
        raise typer.Exit(stop.exit_code) from None
    if not as_json:
        _print(found)
    session = None if no_measure else _measured(root, found, as_json=as_json)
    page = None if session is None else _page(root, found, session)
    if as_json:
        print(json.dumps(_as_plain(found, session, page), indent=1))
    else:
        experiment = found.workspace.experiment
        if page is not None:
            print(wrapped(f"{page}: page of the last trial's requests", hang="  "))
        if no_measure:
            print(f"Measure it:  rematch measure {experiment} --profile smoke")
        print(f"In earnest:  rematch measure {experiment} --profile quick")
        print(f"Two versions: rematch duel V1 V2 --as {experiment}")


def _refuse_name(root: Path, name: str) -> None:
    if name in experiment_paths(root) or (root / "services" / name).is_dir():
        raise InputError(
            "a name of this project's own",
            place="--name",
            found=name,
            allowed=f"another one, such as my-{name}",
        )


def _measured(root: Path, found: Adopted, *, as_json: bool) -> str:
    """Measure the session ``smoke`` anew; return its key."""
    from harness.cli.measure import summarise
    from harness.session import Interrupted, Silent, assemble, measure, prepare, suitable_progress

    with contextlib.closing(assemble(root)) as assembly:
        prepared = prepare(assembly, str(found.workspace.experiment), profile="smoke", host="local", seed=1)
        try:
            folder = measure(
                assembly, prepared, progress=Silent() if as_json else suitable_progress(), new=True
            )
        except Interrupted as stop:
            print(f"rematch: stopped by {stop}; nothing runs on", file=sys.stderr)
            raise typer.Exit(stop.exit_code) from None
    if not as_json:
        summarise(folder, as_json=False)
    return folder.key


def _page(root: Path, found: Adopted, session: str) -> Path | None:
    """Write the page of the newest trial that ended well, beside the experiment; ``None``: there is none."""
    from harness.model import Outcome
    from harness.report.output import page_of
    from harness.store import Store

    folder = Store(root).session(*session.split("/"))
    for trial in sorted(folder.finished(), reverse=True):
        if folder.record(trial).outcome is Outcome.OK and folder.has(trial, SAMPLES):
            target = found.workspace.experiment.with_suffix(".html")
            page_of(folder.path(trial, SAMPLES), target)
            return target
    return None


def _print(found: Adopted) -> None:
    place = found.workspace
    if found.guess is not None:
        for part, why in found.guess.why.items():
            value = {"build": found.guess.build, "start": found.guess.start}.get(part)
            said = found.guess.artifact if part == "artifact" else " ".join(value or ("nothing",))
            print(wrapped(f"{part}: {said}  ({why})", hang="  "))
        for remark in found.guess.remarks:
            print(wrapped(remark, hang="  "))
    n = len(found.recording.repeatable)
    print(wrapped(f"requests: {counted(n, 'request')} of {found.source}", hang="  "))
    for one in found.recording.recorded:
        marks = []
        if one.volatile:
            marks.append(f"masked: {', '.join(one.volatile)}")
        if one.compared == "status":
            marks.append("status alone")
        if one.note:
            marks.append(one.note)
        if one.contradicts:
            marks.append(f"contradicts its document: {', '.join(one.contradicts)}")
        end = f" ({'; '.join(marks)})" if marks else ""
        print(wrapped(f"{one.asked.method} {one.asked.path}: {one.status}{end}", indent="  ", hang="    "))
    for left in found.left_out:
        print(wrapped(f"left out: {left}", indent="  ", hang="    "))
    n_lines = len(place.service_toml.read_text("utf-8").splitlines())
    print(f"{place.service_toml}: {n_lines} lines")
    print(f"{place.experiment}: the experiment, with each guess as a comment")


def _as_plain(found: Adopted, session: str | None, page: Path | None) -> dict[str, object]:
    place, guess = found.workspace, found.guess
    return {
        "name": place.name,
        "experiment": str(place.experiment),
        "service_toml": str(place.service_toml),
        "contract": str(place.contract),
        "guess": None if guess is None else {
            "language": guess.language, "framework": guess.framework, "build": list(guess.build),
            "start": list(guess.start), "why": guess.why, "remarks": list(guess.remarks),
        },
        "requests_from": found.source,
        "requests": [
            {
                "name": one.asked.name, "method": one.asked.method, "path": one.asked.path, "status": one.status,
                "compared": one.compared, "volatile": list(one.volatile), "in_load": one.repeatable, "note": one.note,
                "contradicts": list(one.contradicts),
            }
            for one in found.recording.recorded
        ],
        "left_out": list(found.left_out),
        "session": session,
        "page": None if page is None else str(page),
    }  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""``rematch adopt``: the files that a measurement of one's own service needs, written and tried; and its capacity."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.adopt import Adopted, Order, adopt, workspace_of
from harness.adopt.capacity import Capacity, capacity_of
from harness.cli.check_here import busy_warning
from harness.cli.measure import measure_anew, stopping
from harness.cli.options import AsJson, Profile, ReadyWithin, Requests, fields_of, say
from harness.cli.results import opened, print_conclusion
from harness.errors import InputError
from harness.measure.session import assemble
from harness.measure.session.signals import interruptible
from harness.project import experiment_paths, find_root
from harness.rows.session_results import results_of

#: Blocks of the first measurement; the profile itself has as many as a comparison takes.
BLOCKS = 3
#: What an experiment that is written here has.
PROFILES = ("smoke", "quick")
#: Headers, in lower case, that are recorded with the requests.
SECRET = ("authorization", "cookie", "proxy-authorization", "x-api-key")


def adopt_command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="folder of the service, anywhere; nothing is written into it"),
    ],
    requests: Requests = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="start command in place of the guess; {port} stands for the port, {host} for the address, {artifact} "
            "for what was built"
        ),
    ] = None,
    build: Annotated[
        str | None, typer.Option(help="build command in place of the guess; '': nothing is built")
    ] = None,
    name: Annotated[str | None, typer.Option(help="name of the experiment; default: that of DIR")] = None,
    ready_within: ReadyWithin = 60.0,
    profile: Profile = "quick",
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="write and try the files, and measure nothing")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write down how a service is started and what it answers, and measure its capacity in three blocks.

    How it is started follows from package.json, a Procfile, a Compose file or --start, how it is built also from the
    file of a build tool (go.mod, Cargo.toml, pom.xml, build.gradle, requirements.txt); each conclusion is shown with
    its reason, and what is not used of those files as well. These files are written: NAME.toml, the experiment, with
    each guess as a comment; services/NAME/NAME/service.toml, of at most 12 lines, with the start command; and the
    contract, which has every request with the answer that the service gives now. Each request is sent twice to one
    process and once to another one; values that change are masked.

    A wrong guess ends in one line with the line of service.toml to change. The same command continues with the changed
    file. A JVM is loaded until it has settled before each trial (warm_up in NAME.toml). No process is left running.

    The last five lines say what was started, what it is asked, what bounded it, how old its process was, and what to
    type next.

    \b
    Examples:
        rematch adopt ../shop --requests calls.curl
        rematch adopt ../shop --requests openapi.yaml --no-measure
        rematch adopt ../shop --build "make" --start "env -C {artifact} MODE=fast ./shop --port {port}"
    """
    order = Order(folder=folder, name=name, start=start, build=build, requests=requests, ready_s=ready_within)
    root, place = find_root(), workspace_of(order)
    chosen = place.name
    if profile not in PROFILES and not (no_measure or place.experiment.is_file()):
        raise InputError("unknown profile", place="--profile", found=profile, allowed=", ".join(PROFILES))
    if chosen in experiment_paths(root) or (root / "services" / chosen).is_dir():
        allowed = f"another one, such as my-{chosen}"
        raise InputError("a name of this project's own", place="--name", found=chosen, allowed=allowed)
    session = capacity = None
    with stopping(f"nothing of {chosen} runs on"), contextlib.closing(assemble(root)) as assembly:
        with interruptible():
            adopted = adopt(order, assembly, (lambda _text: None) if as_json else say)
        if not as_json:
            _print(adopted)
        if not no_measure:
            if not as_json and (warning := busy_warning()) is not None:
                say(warning, hang="  ")
            blocks = None if profile == "smoke" else BLOCKS
            experiment = str(adopted.workspace.experiment)
            measured = measure_anew(assembly, experiment, profile, blocks=blocks, silent=as_json)
            evidence, session = opened(root, measured), measured.key
            results, capacity = results_of(evidence), capacity_of(evidence)
            if not as_json and results.n_kept < results.n_made:
                print_conclusion(results)
    lines = _lines(adopted, capacity, session)
    if as_json:
        print(json.dumps(_as_plain(adopted, session, capacity, lines), indent=1))
        return
    if capacity is not None:
        say(capacity.headline, hang="  ")
    for part, text in lines.items():
        say(f"{part}: {text}", hang="  ")
    if session is not None and capacity is None:
        raise typer.Exit(1)


def _lines(adopted: Adopted, capacity: Capacity | None, session: str | None) -> dict[str, str]:
    """The last lines: what was started, what it is asked, what bounded it, how old it was, what comes next."""
    experiment = adopted.workspace.experiment
    results = "" if session is None else f"rematch results {session.replace('/', ' --session ')}; "
    why = "nothing was measured" if session is None else "no trial can be used, for the reasons above"
    return {
        "started": adopted.started,
        "asked": adopted.asked,
        "bounded": why if capacity is None else capacity.bounded.removeprefix("bounded "),
        "age": why if capacity is None else capacity.how_old,
        "next": f"{results}rematch measure {experiment} --new; rematch duel V1 V2 --as {experiment}",
    }


def _print(adopted: Adopted) -> None:
    place, guess, recording = adopted.workspace, adopted.guess, adopted.recording
    for part, why in guess.why.items() if guess is not None else ():
        value = getattr(guess, part)
        text = shlex.join(value) if isinstance(value, tuple) else value
        say(f"{part}: {text or 'nothing'}  ({why})", hang="  ")
    for remark in guess.remarks if guess is not None else ():
        say(remark, hang="  ")
    say(f"requests of {adopted.source}:", hang="  ")
    for item in recording.recorded:
        marks = (
            f"masked: {', '.join(item.volatile)}" if item.volatile else None,
            "status alone" if item.compared == "status" else None,
            item.note,
        )
        end = "; ".join(filter(None, marks))
        text = f"{item.asked.method} {item.asked.path}: {item.status}{f' ({end})' if end else ''}"
        say(text, indent="  ", hang="    ")
    left = [f"left out: {item}" for item in (*adopted.listed.left_out, *recording.left_out)]
    for text in (*left, *(f"not sent: {remark}" for remark in adopted.listed.remarks)):
        say(text, indent="  ", hang="    ")
    secret = {name for item in recording.recorded for name in item.asked.headers if name.lower() in SECRET}
    if secret:
        held = ", ".join(sorted(secret))
        say(f"warning: {place.contract} and the records of loads hold {held}: keep them as secret", hang="  ")
    print(f"{place.service_toml}: the start command")
    print(f"{place.experiment}: the experiment, with each guess as a comment")


def _as_plain(
    adopted: Adopted, session: str | None, capacity: Capacity | None, lines: dict[str, str]
) -> dict[str, Any]:
    guess = adopted.guess
    return {
        "name": adopted.workspace.name,
        **{
            name: str(getattr(adopted.workspace, name)) for name in ("experiment", "service_toml", "contract")
        },
        "guess": guess and fields_of(guess, "language", "framework", "build", "start", "why", "remarks"),
        "requests_from": adopted.source,
        "requests": [
            fields_of(item.asked, "name", "method", "path")
            | fields_of(item, "status", "compared", "volatile", "note")
            | {"in_load": item.repeatable}
            for item in adopted.recording.recorded
        ],
        **fields_of(adopted, "left_out", "processes"),
        "session": session,
        "capacity": capacity
        and fields_of(capacity.rate, "value", "low", "high")
        | fields_of(capacity, "noise", "bound_by", "headline")
        | {
            "requests": capacity.n_requests,
            "errors": capacity.n_errors,
            "age": capacity.age and capacity.age.age,
        },
        "lines": lines,
    }

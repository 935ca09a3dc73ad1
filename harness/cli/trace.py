# SPDX-License-Identifier: Apache-2.0
"""``rematch trace``: from a number in the paper back to the trials it came from."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.options import AsJson, say
from harness.errors import InputError, UnknownKey
from harness.model.formatting import counted
from harness.project import find_root
from harness.publish.build import keys_on
from harness.publish.generated import GENERATED, read_values
from harness.store import Store


def trace_command(
    key: Annotated[
        str | None,
        typer.Argument(help="key of the number, or the number as it is printed; default: list all keys"),
    ] = None,
    page: Annotated[
        int | None,
        typer.Option("--page", help="list the numbers in the text of this page of paper/main.pdf", min=1),
    ] = None,
    as_json: AsJson = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="look up the trials of all published numbers; status 1: some are missing"
        ),
    ] = False,
) -> None:
    """Show a published number, its estimator, and the trial records behind it.

    \b
    Examples:
        rematch trace
        rematch trace strings.throughput.ratio.java_helidon
        rematch trace 0.89
        rematch trace --page 5
        rematch trace --check
    """
    root = find_root()
    values = read_values(root)
    if not values:
        raise InputError("no number has been published", file=GENERATED, allowed="make paper first")
    if page is not None and key is not None:
        raise InputError("give a key or a page, not both", place="--page", found=f"{key} and page {page}")
    if check:
        _check(Store(root), values)
    elif page is not None:
        _print_page(root, values, page, as_json=as_json)
    elif key is None:
        print(json.dumps(sorted(values), indent=1) if as_json else "\n".join(sorted(values)))
    else:
        key = _key(values, key)
        trials = [_trial(Store(root), root, name) for name in values[key].get("inputs", [])]
        if as_json:
            print(json.dumps({"key": key, **values[key], "trials": trials}, indent=1))
        else:
            _print(key, values[key], trials)


def _key(values: dict[str, Any], asked: str) -> str:
    """Return the key that is asked for: by itself, or by what only one number is printed as."""
    keys = [asked] if asked in values else []
    for key, value in values.items() if not keys else ():
        printed = (f"{value.get(name) or ''} " for name in ("text", "interval_text"))
        keys += [key] if any(text.startswith(f"{asked} ") for text in printed) else []
    if len(keys) > 1:
        raise UnknownKey(
            f"{GENERATED}: {counted(len(keys), 'number')} printed as {asked!r}; give one of the keys: {', '.join(keys)}"
        )
    if not keys:
        near = ", ".join(difflib.get_close_matches(asked, values, n=5, cutoff=0.4)) or "none"
        raise UnknownKey(f"{GENERATED}: no number has the key {asked!r}; nearest: {near}")
    return keys[0]


def _check(store: Store, values: dict[str, Any]) -> None:
    """Print how many numbers and trials there are; name each number of which a trial is missing, with the trial."""
    trials = {name for value in values.values() for name in value["inputs"]}
    missing = set()
    for name in trials:
        try:
            store.find_trial(name)
        except InputError:
            missing.add(name)
    for key, value in sorted(values.items()):
        absent = [name for name in value["inputs"] if name in missing]
        if absent:
            n_trials = counted(len(value["inputs"]), "trial")
            say(f"{key}: {len(absent)} of {n_trials} missing: {absent[0]}", hang="  ")
    print(f"{counted(len(values), 'number')}, {counted(len(trials), 'trial')}: {len(missing)} missing")
    if missing:
        raise typer.Exit(1)


def _trial(store: Store, root: Path, name: str) -> dict[str, Any]:
    folder, trial_id = store.find_trial(name)
    record = folder.record(trial_id)
    return {
        "trial": name,
        "record": folder.where(trial_id, "record.json").relative_to(root).as_posix(),
        "configuration": record.planned.configuration.key,
        "block": record.planned.block,
        "outcome": record.outcome.value,
        "flags": list(record.flags),
    }


def _print(key: str, value: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    say(f"{key} = {value.get('text', value.get('value'))}", hang="  ")
    flags = Counter(flag for trial in trials for flag in (trial["outcome"], *trial["flags"]) if flag != "ok")
    n_trials = counted(len(trials), "trial")
    warnings = [f"{count} of {n_trials}: {name.replace('_', ' ')}" for name, count in flags.items()]
    for warning in (*warnings, *(value.get("warnings") or ())):
        say(f"warning: {warning}", hang="  ")
    ends = value.get("low"), value.get("high")
    interval = "" if None in ends else f" [{ends[0]}, {ends[1]}]"
    facts = {
        "value": f"{value.get('value')}{interval} {value.get('unit') or ''}",
        "says": f"{value['words']} {value['reference']}" if value.get("words") else None,
        **{name: value.get(name) for name in ("estimand", "method", "n_trials")},
    }
    for name, fact in facts.items():
        if fact is not None:
            say(f"{name:<9} {fact}", indent="  ", hang=" " * 12)
    if trials:
        print(f"  from {n_trials}, each a folder with a record.json:")
    for folder, own in groupby(trials, lambda trial: Path(trial["record"]).parent.parent.as_posix()):
        print(f"    {folder}/")
        for trial in own:
            marks = [trial["outcome"]] if trial["outcome"] != "ok" else []
            marks += [f"({', '.join(trial['flags'])})"] if trial["flags"] else []
            name = Path(trial["record"]).parent.name
            text = "  ".join((name, f"block {trial['block']}", trial["configuration"], *marks))
            say(text, indent=" " * 6, hang=" " * 8)


def _print_page(root: Path, values: dict[str, Any], page: int, *, as_json: bool) -> None:
    results = dict.fromkeys(keys_on(root, page), "not published any more; build the paper again")
    for key in results.keys() & values.keys():
        value = values[key]
        results[key] = str(value.get("interval_text") or value.get("text") or value.get("value"))
    if as_json:
        plain = [{"key": key, "text": text, "page": page} for key, text in results.items()]
        print(json.dumps(plain, indent=1))
        return
    print(f"{counted(len(results), 'key')} on page {page} of paper/main.pdf, in the order of the text:")
    for key, text in results.items():
        say(f"{key} = {text}", indent="  ", hang="    ")

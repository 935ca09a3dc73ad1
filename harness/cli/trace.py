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

from harness.cli.lines import say
from harness.cli.options import AsJson
from harness.errors import InputError, UnknownKey
from harness.model.phrases import counted
from harness.project import find_root
from harness.publish.build import keys_on
from harness.publish.generated import GENERATED, read_values
from harness.store import Store


def trace(
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
    if check:
        _check(Store(root), values)
        return
    if page is not None:
        if key is not None:
            raise InputError("give a key or a page, not both", place="--page", found=f"{key} and page {page}")
        _print_page(root, values, page, as_json=as_json)
        return
    if key is None:
        print(json.dumps(sorted(values), indent=1) if as_json else "\n".join(sorted(values)))
        return
    key, value = _value(values, key)
    trials = [_trial(Store(root), root, name) for name in value.get("inputs", [])]
    if as_json:
        print(json.dumps({"key": key, **value, "trials": trials}, indent=1))
    else:
        _print(key, value, trials)


def _value(values: dict[str, Any], asked: str) -> tuple[str, dict[str, Any]]:
    """Return the key and the entry that are asked for: by key, or by what only one number is printed as."""
    keys = [asked] if asked in values else []
    for key, value in values.items() if not keys else ():
        printed = (f"{value.get(name) or ''} " for name in ("text", "interval_text"))
        keys += [key] if any(text.startswith(f"{asked} ") for text in printed) else []
    if not keys:
        near = difflib.get_close_matches(asked, values, n=5, cutoff=0.4)
        raise UnknownKey(
            f"{GENERATED}: no number has the key {asked!r}; nearest: {', '.join(near) or 'none'}"
        )
    if len(keys) > 1:
        raise UnknownKey(
            f"{GENERATED}: {counted(len(keys), 'number')} printed as {asked!r}; give one of the keys: {', '.join(keys)}"
        )
    return keys[0], values[keys[0]]


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
    flags = Counter(flag for trial in trials for flag in trial["flags"])
    failed = Counter(trial["outcome"] for trial in trials if trial["outcome"] != "ok")
    for name, count in (*failed.items(), *flags.items()):
        say(f"warning: {count} of {counted(len(trials), 'trial')}: {name.replace('_', ' ')}", hang="  ")
    for warning in value.get("warnings") or ():
        say(f"warning: {warning}", hang="  ")
    interval = ""
    if value.get("low") is not None and value.get("high") is not None:
        interval = f" [{value['low']}, {value['high']}]"
    say(f"value     {value.get('value')}{interval} {value.get('unit') or ''}", indent="  ", hang=" " * 12)
    if value.get("words"):
        say(f"says {value['words']} {value['reference']}", indent="  ", hang=" " * 12)
    for name in ("estimand", "method", "n_trials"):
        if value.get(name) is not None:
            say(f"{name:<9} {value[name]}", indent="  ", hang=" " * 12)
    if trials:
        print(f"  from {counted(len(trials), 'trial')}, each a folder with a record.json:")
    for folder, own in groupby(trials, lambda trial: str(Path(trial["record"]).parent.parent.as_posix())):
        print(f"    {folder}/")
        for trial in own:
            text = f"{Path(trial['record']).parent.name}  block {trial['block']}  {trial['configuration']}"
            text += "" if trial["outcome"] == "ok" else f"  {trial['outcome']}"
            text += f"  ({', '.join(trial['flags'])})" if trial["flags"] else ""
            say(text, indent=" " * 6, hang=" " * 8)


def _print_page(root: Path, values: dict[str, Any], page: int, *, as_json: bool) -> None:
    results = dict.fromkeys(keys_on(root, page), "not published any more; build the paper again")
    for key in results.keys() & values.keys():
        value = values[key]
        results[key] = str(value.get("interval_text") or value.get("text") or value.get("value"))
    if as_json:
        print(
            json.dumps([{"key": key, "text": text, "page": page} for key, text in results.items()], indent=1)
        )
        return
    print(f"{counted(len(results), 'key')} on page {page} of paper/main.pdf, in the order of the text:")
    for key, text in results.items():
        say(f"{key} = {text}", indent="  ", hang="    ")

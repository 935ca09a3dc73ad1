# SPDX-License-Identifier: Apache-2.0
"""``rematch trace``: from a number in the paper back to the trials it came from."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli import completion
from harness.errors import InputError, UnknownKey
from harness.project import find_root

VALUES = Path("paper") / "generated" / "values.json"


def trace(
    key: Annotated[str, typer.Argument(help="the number's key", autocompletion=completion.keys)],
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Say what a number of the paper is, how it was estimated, and which records it came from.

    Examples:

        rematch trace strings.throughput.ratio.java_helidon
    """
    from harness.store import Store

    root = find_root()
    value = _value(root, key)
    store = Store(root)
    trials = [_trial(store, root, name) for name in value.get("inputs", [])]
    if as_json:
        print(json.dumps({"key": key, **value, "trials": trials}, indent=1))
        return
    _print(key, value, trials)


def _value(root: Path, key: str) -> dict[str, Any]:
    path = root / VALUES
    try:
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError("no number was published yet", file=VALUES, allowed="make paper first") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=VALUES) from None
    if key not in values:
        near = difflib.get_close_matches(key, values, n=5, cutoff=0.4)
        raise UnknownKey(f"{VALUES}: no number has the key {key!r}; nearest: {', '.join(near) or 'none'}")
    found = values[key]
    return found if isinstance(found, dict) else {"value": found}


def _trial(store: Any, root: Path, name: str) -> dict[str, Any]:
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
    print(f"{key} = {value.get('text', value.get('value'))}")
    interval = ""
    if value.get("low") is not None and value.get("high") is not None:
        interval = f" [{value['low']}, {value['high']}]"
    print(f"  value     {value.get('value')}{interval} {value.get('unit') or ''}".rstrip())
    for name in ("estimand", "method", "n_trials"):
        if value.get(name) is not None:
            print(f"  {name:<9} {value[name]}")
    print(f"  from {len(trials)} trials:")
    for trial in trials:
        flags = f" [{', '.join(trial['flags'])}]" if trial["flags"] else ""
        print(
            f"    {trial['record']}  block {trial['block']}  {trial['configuration']}  {trial['outcome']}{flags}"
        )

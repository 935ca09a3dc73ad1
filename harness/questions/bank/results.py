# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the bank and of the clients: one key a variant of the definition, measured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.tables.error_kinds import ERROR_KINDS
from harness.evidence.load_response import at_most_load, every
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.publish.results import mean_of

#: column of the pressure table -> unit in the paper
_PRESSURE = {
    "error_share": "share", "drain_s": "s", "recovery_s": "s", "highest_backlog": "1", "recovery_under_load_s": "s",
}  # fmt: skip
_WORDS = {
    "refused": "refused", "timeout": "timeout", "server": "5xx", "client": "4xx", "wrong_answer": "wrong",
    "other": "other",
}  # fmt: skip

#: What the table of trials says of limits -> words
_ENFORCED = {
    "cgroup v1": "enforced by a control group (version 1)",
    "cgroup v2": "enforced by a control group (version 2)",
    "container": "enforced by a container",
    "not enforced": "no control group enforced it, the service was pinned and its heap limited",
}


def publish_pressure(
    publisher: Publisher,
    table: pd.DataFrame | None,
    found: Mapping[str, Mapping[str, Estimate]],
    variants: Mapping[str, str],
    *,
    prefix: str,
) -> Published:
    """Publish each bend as ``<prefix>.<word>.<variant>``, and at the highest load
    ``.{error_share,drain,recovery,backlog,recovery_under_load}.<variant>``.

    Args:
        found: word of a bend -> variant -> the load where it is. variants: all of the definition with their labels.
    """
    top = at_most_load(table)
    said = []
    with publisher.together():
        for name in variants:
            for word, bends in found.items():
                bend, key = bends.get(name), f"{prefix}.{word}.{slug(name)}"
                said.append(
                    publisher.absent(key, "1/s", NOT_MEASURED)
                    if bend is None
                    else publisher.number(key, bend)
                )
            for column, unit in _PRESSURE.items():
                key = f"{prefix}.{column.removesuffix('_s').removeprefix('highest_')}.{slug(name)}"
                mine = None if top is None else every(top[top["variant"] == name])
                if mine is None or mine.empty:
                    said.append(publisher.absent(key, unit, NOT_MEASURED))
                else:
                    said.append(publisher.number(key, mean_of(mine, column, unit)))
    return joined(said)


def pressure_cells(
    table: pd.DataFrame, labels: Mapping[str, str], *, by: Sequence[str]
) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, levels, trials and how they ended, offered requests and right
    answers per second while they were offered (``right``), time to serve a fixed amount of work (``serve``), right
    share, p99, failed share, errors by kind, drain, connections; overloaded trials included."""
    rows: list[Mapping[str, Cell] | None] = []
    groups = table[~table["duplicate"].astype(bool)].groupby([*by, "variant"], sort=False)
    for key, mine in groups:
        if rows and by and rows[-1] is not None and rows[-1][by[0]] != str(key[0]):
            rows.append(None)
        trials = every(mine)
        ends = mine["outcome"].value_counts()
        rows.append(
            {level: str(value) for level, value in zip(by, key, strict=False)}
            | {
                "variant": labels.get(str(key[-1]), str(key[-1])),
                "trials": len(mine),
                "ended": ", ".join(f"{n} {end}" for end, n in ends.items()),
                "offered": mean_of(trials, "offered_per_s", "1/s"),
                "right": mean_of(trials, "sustained_per_s", "1/s"),
                "serve": _time_to_serve(trials),
                "share": mean_of(trials, "right_share", "share"),
                "mean": mean_of(trials, "latency_mean_s", "s"),
                "p99": mean_of(trials, "latency_p99_s", "s"),
                "cpu": mean_of(trials, "cpu_s_per_request", "s/request"),
                "failed": mean_of(trials, "error_share", "share"),
                "kinds": _kinds(mine),
                "drain": mean_of(trials, "drain_s", "s"),
                "back": mean_of(trials, "recovery_under_load_s", "s"),
                "open": mean_of(trials, "most_connections", "1"),
                "memory": mean_of(trials, "rss_max_bytes", "B"),
            }
        )
    return rows


def publish_limits(publisher: Publisher, table: pd.DataFrame | None, *, prefix: str) -> Published:
    """Publish ``<prefix>.limits``: who enforced the limits of the services, in how many trials."""
    words = NOT_MEASURED
    if table is not None:
        who = table["limits"] if "limits" in table else pd.Series(dtype=object)
        counts = who.fillna("not enforced").value_counts().to_dict() or {"not enforced": len(table)}
        words = "; ".join(
            f"{_ENFORCED.get(str(name), name)} in {n} of {len(table)} trials" for name, n in counts.items()
        )
    return publisher.text(f"{prefix}.limits", words)


def publish_money(publisher: Publisher, tables: Sequence[pd.DataFrame | None], *, prefix: str) -> Published:
    """Publish what the databases held after the loads.

    ``<prefix>.money``: in how many trials the sum over all balances was what had been created.
    ``<prefix>.promises``: how many of the right answers that promise a row in the database have one.
    """
    asked = [table["money_kept"].dropna() for table in tables if table is not None]
    answers = pd.concat(asked) if asked else pd.Series(dtype=object)
    kept = int(answers.astype(bool).sum())
    words = f"{kept} of {len(answers)} trials" if len(answers) else NOT_MEASURED
    with publisher.together():
        said = (publisher.text(f"{prefix}.money", words), _publish_promises(publisher, tables, prefix))
    return joined(said)


def _publish_promises(publisher: Publisher, tables: Sequence[pd.DataFrame | None], prefix: str) -> Published:
    key = f"{prefix}.promises"
    held = [table for table in tables if table is not None and "answers_held" in table]
    n_held, n_stored = (
        sum(int(table[name].sum()) for table in held) for name in ("answers_held", "answers_stored")
    )
    if not n_held:
        return publisher.absent(key, "1", NOT_MEASURED)
    n_trials = sum(int(table["answers_held"].notna().sum()) for table in held)
    return publisher.text(key, f"{n_stored:,} of {n_held:,}, in {n_trials} trials")


def _time_to_serve(trials: pd.DataFrame) -> Estimate:
    found = mean_of(trials, "serve_s", "s")
    if found.value is not None:
        return found
    return found.model_copy(update={"warnings": ("no time to serve, as passes failed in every trial",)})


def _kinds(trials: pd.DataFrame) -> str | None:
    counts = {kind: int(trials[f"errors_{kind}"].sum()) for kind in ERROR_KINDS if f"errors_{kind}" in trials}
    return ", ".join(f"{n} {_WORDS[kind]}" for kind, n in counts.items() if n) or None

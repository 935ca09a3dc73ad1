# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the banks: as published, in the rematch, with a grown table, and what their databases kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.tables.error_kinds import ERROR_KINDS
from harness.evidence.load_response import at_most_load, every
from harness.evidence.parameters import StageParameters
from harness.model import BackingSettings, TrialRecord
from harness.model.level_words import cell_words
from harness.publish.bounds import bound_in_words, bounds
from harness.publish.case import Case, Cases
from harness.publish.cells import Cell, gapped
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.leaves import mean_of, means, ratios
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, for_each, level_effects
from harness.questions.bank.analysis import knees, saturations
from harness.questions.bank.connections import at_one_load
from harness.questions.bank.failures import bends, failed_passes
from harness.questions.bank.published import JAVA, capacity_effect

EXPERIMENTS = ("bank-original", "bank-rematch", "bank-connections", "bank-table", "bank-admission")
#: The way to hold connections that the text speaks of.
POOL = "pool-20"
MATCHED = "matched"
#: word in the key -> column of the load response: at the highest load, overloaded trials included
_AT_MOST_LOAD = {
    "error_share": "error_share", "drain": "drain_s", "recovery": "recovery_s", "backlog": "highest_backlog",
    "recovery_under_load": "recovery_under_load_s",
}  # fmt: skip
#: word in the key -> column: the rematch against its reference, and a grown table or an index against none
_RATIOS = {
    "mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request", "memory": "rss_after_bytes",
}  # fmt: skip
_ADMISSION = {"throughput": "throughput_per_s", **_RATIOS}
_TABLE = {"serve": "serve_s", "mean": "latency_mean_s", "cpu": "cpu_s_per_request"}
#: Levels of the factor ``craft``: as that community writes it, and by hand.
IDIOMATIC, TUNED = "idiomatic", "tuned"
_PHRASE = Phrase(
    who="Java banks",
    more="have a higher mean latency than the Go bank",
    less="have a lower mean latency than the Go bank",
    more_short="higher",
    less_short="lower",
    one="with a pool, the Java bank's mean latency is {} than the Go bank's",
)
#: The columns of the load response that tables have means of.
_COLUMNS = (
    "offered_per_s", "throughput_per_s", "sustained_per_s", "serve_s", "right_share", "latency_mean_s", "latency_p99_s",
    "cpu_s_per_request", "error_share", "drain_s", "recovery_under_load_s", "most_connections", "rss_max_bytes",
    "backing_share",
)  # fmt: skip
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


def open_cases(settings: StageParameters, *experiments: str) -> Cases[Case]:
    """Open these experiments on the bank; without names all of them."""
    return Cases.open(Case, settings, experiments or EXPERIMENTS)


def results(cases: Cases[Case]) -> Tree:
    """Return what holds for all experiments: the capacity that was found before them, what the databases held after
    their loads (``kept``), and ``bound``, what bounded the trials of each."""
    records = [record for evidence in cases.evidence for *_, record in evidence.with_records()]
    return {"calibration": cases.calibration, "bound": bounded(cases), **kept(records)}


def bounded(cases: Cases[Case]) -> Leaf:
    """Return what bounded the trials of each experiment, in one sentence; duplicates apart, excluded ones included."""
    said = []
    for evidence in cases.evidence:
        mine = evidence.trials[~evidence.trials["duplicate"].astype(bool)]
        if "bound_by" in mine and mine["bound_by"].notna().any():
            said.append(f"{evidence.experiment}: {bound_in_words(mine)}")
    return "; ".join(said) or NO_TEXT


def kept(records: Sequence[TrialRecord]) -> Tree:
    """Return ``money``, in how many trials the sum over all balances was what had been created, and ``promises``, how
    many of the right answers that promise a row in the database have one."""
    asked = [all(row.holds for row in record.invariants) for record in records if record.invariants]
    stored = [record.stored for record in records if record.stored]
    n_right = sum(row.n_right for rows in stored for row in rows)
    n_stored = sum(min(row.n_right, row.n_stored) for rows in stored for row in rows)
    return {
        "money": f"{sum(asked)} of {len(asked)} trials" if asked else NO_TEXT,
        "promises": f"{n_stored:,} of {n_right:,}, in {len(stored)} trials" if n_right else Absent(unit="1"),
    }


def original_results(case: Case) -> Tree:
    """Return of each published bank where it bends, what the highest load did to it, and how much it answers at its
    best load over the other; in sentences ``bends``, and ``failed``, in how many trials passes failed."""
    response = case.response
    most = at_most_load(response)
    all_in = None if most is None else every(most)
    found = {"knee": knees(response), "follows": saturations(response)}
    return {
        "name": case.variants,
        "warm_up": case.warm_up,
        "limits": limits(case.trials),
        **{word: for_each(case.variants, mine, Absent(unit="1/s")) for word, mine in found.items()},
        "bends": bends(found["knee"], case.variants),
        "failed": failed_passes(response, connection_limit(case)),
        **{word: means(all_in, case.variants, column) for word, column in _AT_MOST_LOAD.items()},
        "capacity": {JAVA: capacity_effect(response) or NO_COMPARISON},
        "bound": bounds(all_in, case.variants),
        "database": means(all_in, case.variants, "backing_share"),
    }


def connection_limit(case: Case) -> int:
    """Return how many connections the database of an experiment accepts, unless a level says otherwise."""
    defined = case.definition if case.evidence is None else case.evidence.header.experiment
    return (defined.backing or BackingSettings()).max_connections


def pooled_levels(case: Case) -> dict[str, str]:
    """Return the levels that the text on the rematch speaks of: a pool of twenty, and the matched banks where there
    are others."""
    return {"connections": POOL} | ({"face": MATCHED} if _has_faces(case) else {})


def rematch_results(case: Case) -> Tree:
    """Return the banks with a pool of twenty against the reference, and the cell that the text speaks of; under
    ``repaired`` the rematch's own programs against each other; and ``finding``: title, take-away and how sure, of the
    Java bank's mean latency."""
    levels = pooled_levels(case)
    main = case.last_cell(**levels)
    found = {word: case.ratios(metric, **levels) for word, metric in _RATIOS.items()}
    of_java = next((one for one in found["mean"] if (one.variant, one.levels) == (JAVA, main)), None)
    there = None if case.evidence is None else case.cell(**main)
    return {
        "name": case.variants,
        FINDING: finding([of_java], _PHRASE),
        "warm_up": case.warm_up,
        "main_cell": cell_words(main) or NO_TEXT,
        **{word: ratios(compared, case.others, main) for word, compared in found.items()},
        "bound": bounds(there, case.variants),
        "database": means(there, case.variants, "backing_share"),
        "repaired": {word: {JAVA: _repaired(case, metric)} for word, metric in _RATIOS.items()},
    }


def rematch_rows(case: Case) -> list[Mapping[str, Cell] | None]:
    """Return the rows of ``response_rows`` by ``face`` (without, all are matched), ``connections``, ``users``."""
    table = case.response
    if table is not None and "face" not in table:
        table = table.copy().assign(face=MATCHED)
    return response_rows(table, case.variants, by=["face", "connections", "users"])


def _has_faces(case: Case) -> bool:
    return case.trials is not None and "face" in case.trials


def _repaired(case: Case, metric: str) -> Leaf:
    """Java over Go, both as the rematch had them, at the highest load."""
    if not _has_faces(case):
        return NO_COMPARISON
    cell = case.last_cell(face="repaired")
    if cell.get("face") != "repaired":
        return NO_COMPARISON
    found = case.ratios(metric, **cell)
    return next((one for one in found if one.variant == JAVA), None) or NO_COMPARISON


def table_results(case: Case) -> Tree:
    """Return a grown table over a fresh one without an index, and an index over none in the grown one."""
    worst = at_one_load(case.response)
    no_index = None if worst is None else worst[worst["indexes"] == "none"]
    full = None if worst is None else worst[worst["table"] == "grown"]
    grown = {"factor": "table", "base": "fresh", "other": "grown"}
    indexed = {"factor": "indexes", "base": "none", "other": "yes"}
    return {
        "grown": level_effects(no_index, case.variants, metrics=_TABLE, **grown),
        "indexed": level_effects(full, case.variants, metrics=_TABLE, **indexed),
        "bound": bounds(no_index, case.variants),
        "database": means(no_index, case.variants, "backing_share"),
    }


def craft_results(case: Case) -> Tree:
    """Return under ``by_hand`` each bank written by hand over itself as its community writes it, and under each craft
    the banks of that craft against the reference; no comparison mixes crafts of two banks."""
    mine = at_one_load(case.response)
    crafts = {"factor": "craft", "base": IDIOMATIC, "other": TUNED}
    return {
        "name": case.variants,
        "warm_up": case.warm_up,
        "by_hand": level_effects(mine, case.variants, metrics=_RATIOS, **crafts),
        **{
            craft: {
                word: ratios(case.ratios(metric, craft=craft), case.others, case.last_cell(craft=craft))
                for word, metric in _RATIOS.items()
            }
            for craft in (IDIOMATIC, TUNED)
        },
        "bound": bounds(mine, case.variants),
        "database": means(mine, case.variants, "backing_share"),
    }


def admission_results(case: Case) -> Tree:
    """Return under each memory limit the Java banks against the one with Tomcat's own number of threads, at the most
    users that were measured; who enforced the limits, how the banks were warmed up, and what bounded them."""
    measured = set() if case.trials is None else set(case.trials["limit"])

    def compared(limit: str, metric: str) -> Tree:
        found = case.ratios(metric, limit=limit) if limit in measured else ()
        return ratios(found, case.others, case.last_cell(limit=limit))

    return {
        "name": case.variants,
        "limits": limits(case.trials),
        "warm_up": case.warm_up,
        **{
            limit: {word: compared(limit, metric) for word, metric in _ADMISSION.items()}
            for limit in case.definition.factors["limit"]
        },
        "bound": bounds(case.trials, case.variants),
        "database": means(case.trials, case.variants, "backing_share"),
    }


def limits(trials: pd.DataFrame | None) -> Leaf:
    """Return who enforced the limits of the services, in how many trials."""
    if trials is None:
        return NO_TEXT
    who = trials["limits"] if "limits" in trials else pd.Series(dtype=object)
    counts = who.fillna("not enforced").value_counts().to_dict() or {"not enforced": len(trials)}
    return "; ".join(
        f"{_ENFORCED.get(str(name), name)} in {n} of {len(trials)} trials" for name, n in counts.items()
    )


def response_rows(
    table: pd.DataFrame | None, labels: Mapping[str, str], *, by: Sequence[str]
) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, levels, trials and how they ended, errors by kind, and means of
    columns of the load response over all trials, overloaded ones included."""
    if table is None:
        return []
    rows: list[Mapping[str, Cell]] = [
        {level: str(value) for level, value in zip(by, key, strict=False)}
        | {
            "variant": labels.get(str(key[-1]), str(key[-1])),
            "trials": len(mine),
            "ended": ", ".join(f"{n} {end}" for end, n in mine["outcome"].value_counts().items()),
            "kinds": _kinds(mine),
            "bound": _bound(mine),
        }
        | {column: _mean(every(mine), column) for column in _COLUMNS}
        for key, mine in table[~table["duplicate"].astype(bool)].groupby([*by, "variant"], sort=False)
    ]
    return gapped(rows, by[0])


def _mean(trials: pd.DataFrame, column: str) -> Cell:
    found = mean_of(trials, column)
    if column != "serve_s" or found.value is not None:
        return found
    return found.model_copy(update={"warnings": ("no time to serve, as passes failed in every trial",)})


def _bound(trials: pd.DataFrame) -> str | None:
    """What bounded trials, in the few words that a table has room for: ``database 3, service 2``."""
    if "bound_by" not in trials:
        return None
    told = trials["bound_by"].fillna("unknown").replace("backing", "database").value_counts()
    return ", ".join(f"{by} {n}" for by, n in told.items())


def _kinds(trials: pd.DataFrame) -> str | None:
    counts = {kind: int(trials[f"errors_{kind}"].sum()) for kind in ERROR_KINDS if f"errors_{kind}" in trials}
    return ", ".join(f"{n} {_WORDS[kind]}" for kind, n in counts.items() if n) or None

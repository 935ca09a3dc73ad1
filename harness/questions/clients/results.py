# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the clients: the parts of a load, what each used, a cold start, a branch, faces and crafts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import pandas as pd

from harness.analysis.load.load_segments import COLUMN as PART
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import counting, unit_of
from harness.errors import InputError
from harness.evidence.load_parts import parts_table
from harness.evidence.load_response import every
from harness.evidence.parameters import StageParameters
from harness.model import Estimate
from harness.publish.bounds import bounded
from harness.publish.case import Case, Cases
from harness.publish.cells import Cell, gapped
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.leaves import each, mean_of, means, ratios
from harness.publish.results import Absent, Tree, level_effects
from harness.questions.clients.usage import PERCENTILES, SECOND_HALF, use_table

EXPERIMENTS = (
    "clients-hello", "clients-db", "clients-cold-start", "clients-branch", "clients-faces", "clients-calls",
    "clients-hello-tools", "clients-craft",
)  # fmt: skip
#: word in the key -> column: of a whole load against the reference, and of each variant alone
_RATIOS = {"memory": "rss_after_bytes", "start": "time_to_first_response_s", "cpu": "cpu_s_per_request"}
_MEANS = {"rss": "rss_after_bytes", "first": "time_to_first_response_s"}
#: word in the key -> column: of a part of a load, of a cold start, with and without a branch, of a face
_PART = {"mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "service_cores"}
_COLD = {"mean": "latency_mean_s", "p99": "latency_p99_s", "longest": "latency_max_s"}
_BRANCH = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request"}
_FACE = {"mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}
_CALLS = {"mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}
_CRAFT = {"throughput": "throughput_per_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}
_TOOL = {"cpu": "cpu_s_per_request", "mean": "latency_mean_s"}
_MOST = {"connections": "most_connections", "cores": "most_cores"}
_PHRASE = Phrase(
    who="client services",
    more="answer later in the last part of a load than in the first",
    less="answer sooner in the last part of a load than in the first",
    more_short="later",
    less_short="sooner",
)
#: Columns that tables have means of: of what each service used, and by face.
_USE = ("most_connections", "most_active", "most_cores", "rss_max_bytes")
_FACES = ("latency_mean_s", "latency_p99_s", "cpu_s_per_request", "rss_max_bytes", "upstream_opened")
#: Column -> why no trial of a variant has a number in it.
_WHY = {"upstream_opened": "only Go counts them"} | dict.fromkeys(
    PERCENTILES | SECOND_HALF, "no trial has requests enough for this percentile"
)
#: Of a load's last part, the windows that percentiles are of: column -> column in the tables.
_WINDOWS = {
    "all of it": dict(zip(PERCENTILES, PERCENTILES, strict=True)),
    "second half": dict(zip(SECOND_HALF, PERCENTILES, strict=True)),
}
#: Factors of the loads that one process is offered by one tool or the other.
TOOL, RUN = "tool", "run"
#: The factor of how the matched face is written.
CRAFT = "craft"


class ClientCase(Case):
    """An experiment on the clients, with the parts of each load, and with what each service used."""

    @cached_property
    def parts(self) -> pd.DataFrame | None:
        """One row per kept trial and part of its load (see ``parts_table``)."""
        return parts_table(self.evidence)

    @cached_property
    def used(self) -> pd.DataFrame | None:
        """One row per trial that counts, with what its service used (see ``use_table``)."""
        used = use_table(self.evidence)
        return used if used is None else counting(used)

    @property
    def resolution_s(self) -> float:
        """The coarsest step in which a load tool wrote latencies; 0: it was not measured."""
        return 0.0 if self.trials is None else float(self.trials["latency_resolution_s"].max())


def open_cases(settings: StageParameters, *experiments: str) -> Cases[ClientCase]:
    """Open these experiments on the clients; without names all of them."""
    return Cases.open(ClientCase, settings, experiments or EXPERIMENTS)


def results(cases: Cases[ClientCase]) -> Tree:
    """Return the capacities found before the loads, and of the first experiment memory, start and CPU."""
    hello = cases["clients-hello"]
    return {
        "name": hello.variants,
        "calibration": cases.calibration,
        **{word: ratios(hello.ratios(metric), hello.others, {}) for word, metric in _RATIOS.items()},
        **{word: means(hello.trials, hello.variants, metric) for word, metric in _MEANS.items()},
    }


def parts_results(case: ClientCase) -> Tree:
    """Return what the parts of a load say: of each variant the last over the first, and in the last against the
    reference; under ``most`` what each used at most: connections to the database, and CPUs for a second; and
    ``finding``: title, take-away and how sure, of mean latency in the last part over the first; ``bounded``: what
    bounded the trials."""
    parts = case.parts
    names = [] if parts is None else sorted(set(parts[PART]), key=int)
    first, last = (names[0], names[-1]) if names else ("1", "1")
    at_last = _at(parts, PART, last)
    effects = level_effects(parts, case.variants, factor=PART, base=first, other=last, metrics=_PART)
    return {
        FINDING: finding(comparisons_in(effects["mean"]), _PHRASE),
        "bounded": bounded(case.trials),
        "last_over_first": effects,
        "last": {word: _against_reference(case, at_last, metric) for word, metric in _PART.items()},
        "most": {word: _most(case, column) for word, column in _MOST.items()},
    }


def cold_results(case: ClientCase) -> Tree:
    """Return of each variant the open loop over the closed one, and for how long arrivals met a slow service."""
    arrivals = None if case.response is None else every(case.response[case.response["loop"] == "open"])
    return {
        **level_effects(
            case.trials, case.variants, factor="loop", base="closed", other="open", metrics=_COLD
        ),
        "slow": means(arrivals, case.variants, "slow_s"),
    }


def branch_results(case: ClientCase) -> Tree:
    """Return how often the branch is taken -> of each variant that over never; ``bounded``: what bounded the trials."""
    return {
        "bounded": bounded(case.trials),
        **{
            level: level_effects(
                case.trials, case.variants, factor="minors", base="never", other=level, metrics=_BRANCH
            )
            for level in ("1-in-100", "1-in-2")
        },
    }


def face_results(case: ClientCase) -> Tree:
    """Return of each variant the published face over the matched one; ``opened``: face -> connections to the upstream
    that Go opened under load; ``bounded``: what bounded the trials."""
    return {
        "bounded": bounded(case.trials),
        **level_effects(
            case.used, case.variants, factor="face", base="matched", other="published", metrics=_FACE
        ),
        "opened": each(
            None if case.used is None else case.used.dropna(subset=["upstream_opened"]),
            ("published", "matched"),
            lambda mine: mean_of(mine, "upstream_opened"),
            Absent(unit="1"),
            of="face",
        ),
    }


def parts_rows(case: ClientCase) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: part, variant, and every estimate of a part."""
    metrics = (
        "latency_mean_s", "latency_p99_s", "latency_max_s", "throughput_per_s", "service_cores", "rss_max_bytes",
    )  # fmt: skip
    if case.evidence is None or case.parts is None:
        return []
    return case.evidence.rows(case.parts, metrics, by=[PART])


def use_rows(case: ClientCase) -> list[Mapping[str, Cell]]:
    """Return rows for ``Publisher.table``: variant, connections to the database, CPU, memory."""
    return _rows(case, _USE)


def face_rows(case: ClientCase) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, face, latency, CPU, memory, connections opened to the upstream."""
    return gapped(_rows(case, _FACES, by="face"), "variant")


def percentile_rows(case: ClientCase) -> list[Mapping[str, Cell]]:
    """Return rows for ``Publisher.table``: variant, window of the load's last part, and percentiles, means over
    trials of each trial's own.

    What so few requests cannot tell is a dash, and the table says why. Trials of different tools are never one row.
    """
    return _percentile_rows(case, ("variant",))


def tool_rows(case: ClientCase) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: the same by tool and by load of the process.

    A tool that leaves out its first seconds has one window, any other one two.
    """
    return gapped(_percentile_rows(case, (TOOL, "variant", RUN)), TOOL, "variant")


def tool_results(case: ClientCase) -> Tree:
    """Return tool -> of each variant the last load of a process over the first, each tool by its own numbers, and
    under ``bounded`` what bounded its trials."""
    trials, loads = case.trials, list(case.definition.factors[RUN])
    measured = [] if trials is None else [load for load in loads if load in set(trials[RUN])]
    first, last = (measured[0], measured[-1]) if measured else (loads[0], loads[-1])
    return {
        tool: {
            "bounded": bounded(_at(trials, TOOL, tool)),
            **level_effects(
                _at(trials, TOOL, tool), case.variants, factor=RUN, base=first, other=last, metrics=_TOOL
            ),
        }
        for tool in case.definition.factors[TOOL]
    }


def calls_results(case: ClientCase) -> Tree:
    """Return of each variant both calls at once over one after the other; ``bounded``: what bounded the trials."""
    return {
        "bounded": bounded(case.trials),
        **level_effects(
            case.trials, case.variants, factor="calls", base="sequential", other="parallel", metrics=_CALLS
        ),
    }


def craft_results(case: ClientCase) -> Tree:
    """Return of each variant the tuned craft over the idiomatic one, and under each craft what the other variants are
    to the reference in the same craft; ``bounded``: what bounded the trials."""
    trials = case.trials
    return {
        "bounded": bounded(trials),
        "tuned_over_idiomatic": level_effects(
            trials, case.variants, factor=CRAFT, base="idiomatic", other="tuned", metrics=_CRAFT
        ),
        **{
            craft: {
                word: _against_reference(case, _at(trials, CRAFT, craft), metric)
                for word, metric in _CRAFT.items()
            }
            for craft in case.definition.factors[CRAFT]
        },
    }


def _percentile_rows(case: ClientCase, by: Sequence[str]) -> list[Mapping[str, Cell]]:
    if case.used is None:
        return []
    _refuse_several_tools(case.used, by)
    rows: list[Mapping[str, Cell]] = []
    for names, mine in case.used.groupby(list(by), sort=False):
        named = dict(zip(by, map(str, names), strict=True))
        named["variant"] = case.variants.get(named["variant"], named["variant"])
        rows += [
            {**named, "window": window} | {name: _mean(mine, column) for column, name in columns.items()}
            for window, columns in _WINDOWS.items()
            if mine[next(iter(columns))].notna().any()
        ]
    return rows


def _rows(case: ClientCase, columns: Iterable[str], *, by: str = "variant") -> list[Mapping[str, Cell]]:
    if case.used is None:
        return []
    _refuse_several_tools(case.used, (by,))
    return [
        {by: str(level), "variant": case.variants.get(str(name), str(name))}
        | {column: _mean(mine, column) for column in columns}
        for name, of_variant in case.used.groupby("variant", sort=False)
        for level, mine in of_variant.groupby(by, sort=False)
    ]


def _refuse_several_tools(trials: pd.DataFrame, by: Sequence[str]) -> None:
    """What different load tools told of a variant is never one number."""
    tools = sorted(set(trials["generator"].dropna()))
    if TOOL not in by and len(tools) > 1:
        raise InputError(
            "several load tools in one row", found=", ".join(tools), allowed=f"one, or a row for each {TOOL}"
        )


def _most(case: ClientCase, column: str) -> Tree:
    return each(case.used, case.variants, lambda mine: _mean(mine, column), Absent(unit=unit_of(column)))


def _at(trials: pd.DataFrame | None, factor: str, level: str) -> pd.DataFrame | None:
    """The trials at one level of a factor; ``None``: none was measured."""
    return None if trials is None else trials[trials[factor] == level]


def _against_reference(case: ClientCase, trials: pd.DataFrame | None, metric: str) -> Tree:
    found: Sequence[Comparison] = ()
    reference = case.reference
    if trials is not None:
        told = trials.dropna(subset=[metric])
        found = compare(told, metric, reference=reference) if reference in set(told["variant"]) else ()
    return ratios(found, case.others, {})


def _mean(trials: pd.DataFrame, column: str) -> Estimate:
    """The mean over the trials that have a number; without any, why there is none."""
    found = mean_of(trials.dropna(subset=[column]), column)
    if found.value is not None or column not in _WHY:
        return found
    return found.model_copy(update={"warnings": (_WHY[column],)})

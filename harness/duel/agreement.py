# SPDX-License-Identifier: Apache-2.0
"""Whether both versions answer as the contract was recorded: a version that answers less is not a faster one; and the
results of both as rows that limits are held against, by the comparison of ``rematch results``."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from harness.adopt.adopting import blamed
from harness.adopt.running import DoesNotStart, running_service
from harness.compare.result import Row
from harness.conformance import check
from harness.duel.files import Duel
from harness.duel.sides import Side
from harness.errors import InputError
from harness.loadgen.flow import readiness_request
from harness.model import Verdict
from harness.model.age import YOUNG
from harness.model.formatting import NOT_ABOUT
from harness.rows.session_results import Line, Results
from harness.session import Assembly
from harness.workloads import CASES, REQUESTS, load_all_requests, load_cases


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """``differences``: side -> case -> what it answers in place of the recorded answer."""

    n_cases: int
    differences: dict[str, dict[str, str]]

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that at least one side answers in another way."""
        return tuple(dict.fromkeys(case for difference in self.differences.values() for case in difference))


def replay(duel: Duel, assembly: Assembly, *, ready_s: float, say: Callable[[str], None]) -> Agreement:
    """Ask both sides every case of the contract, each in a process of its own.

    Raises:
        InputError: a side does not start; the message names the line of its ``service.toml``.
    """
    cases = load_cases(duel.contract)
    first = readiness_request(load_all_requests(duel.contract))
    results: dict[str, dict[str, str]] = {}
    for side in duel.sides:
        implementation = duel.implementation(side, assembly.root)
        try:
            with running_service(
                assembly, implementation, duel.variant(side), ready_path=first.path, ready_s=ready_s, say=say
            ) as running:
                result = check(
                    running.endpoint, cases, "matched", implementation.language, implementation.name
                )
        except DoesNotStart as problem:
            raise _of_side(problem, duel, side) from None
        pairs = (failure.partition(": ") for failure in result.failures)
        results[side.label] = {case: text for case, _, text in pairs}
    return Agreement(n_cases=len(cases), differences=results)


def _of_side(problem: DoesNotStart, duel: Duel, side: Side) -> InputError:
    file = duel.folder / "services" / duel.workload / side.label / "service.toml"
    line = blamed(problem, file)
    return InputError(
        f"{problem.reason}; both versions are started as the adopted service.toml says",
        file=side.what, place=line.place,
    )  # fmt: skip


def agreed_contract(duel: Duel, left_out: Collection[str]) -> None:
    """Take these cases, and the requests of the same names, out of the duel's own copy of the contract.

    Raises:
        InputError: no request is left.
    """
    for name in (CASES, REQUESTS):
        file = duel.contract / name
        retained = [line for line in _lines(file) if json.loads(line)["name"] not in left_out]
        if name == REQUESTS and not retained:
            raise InputError(
                "no request is answered alike by both versions",
                place="--allow",
                found=", ".join(sorted(left_out)),
            )
        file.write_text("".join(f"{line}\n" for line in retained), "utf-8")


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text("utf-8").split("\n") if line.strip()]


def rows_of(results: Results) -> tuple[Row, ...]:
    """Return a row for each metric: A is the reference, B the other version. ``verdict`` is ``None`` where the
    session cannot have one: smoke, fewer blocks than a verdict takes, or something else than the services decided."""
    rows: list[Row] = []
    for metric in results.metrics:
        for cell in results.cells(metric):
            reference, *rest = cell.lines
            rows += [_row(metric.name, reference, line, conclusive=results.conclusive) for line in rest]
    return tuple(rows)


def _row(metric: str, reference: Line, line: Line, *, conclusive: bool) -> Row:
    row, ratio = Row(metric=metric, label=None, a=reference.mean["value"], b=line.mean["value"]), line.ratio
    if ratio is None:
        return row.model_copy(update={"why": "no trial of both versions has it"})
    refused = line.has(Verdict.NOT_ABOUT_SERVICES)
    why = f"of {YOUNG} processes" * line.young
    if not conclusive:
        why = "smoke checks that everything works"
    elif refused:
        why = ratio["why"] or NOT_ABOUT
    verdict = Verdict(ratio["verdict"]) if conclusive and not refused else None
    numbers = {name: ratio[name] for name in ("low", "high", "margin")}
    return row.model_copy(update={"ratio": ratio["value"], **numbers, "verdict": verdict, "why": why})

# SPDX-License-Identifier: Apache-2.0
"""Whether both versions answer as the contract was recorded: a version that answers less is not a faster one."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from harness.adopt.adopting import blamed
from harness.adopt.running import DoesNotStart, running_service
from harness.conformance import check
from harness.duel.files import Duel
from harness.duel.sides import Side
from harness.errors import InputError
from harness.loadgen.flow import readiness_request
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
            file = duel.folder / "services" / duel.workload / side.label / "service.toml"
            raise InputError(
                f"{problem.reason}; both versions are started as the adopted service.toml says",
                file=side.what, place=blamed(problem, file).place,
            ) from None  # fmt: skip
        pairs = (failure.partition(": ") for failure in result.failures)
        results[side.label] = {case: text for case, _, text in pairs}
    return Agreement(n_cases=len(cases), differences=results)


def agreed_contract(duel: Duel, left_out: Collection[str]) -> None:
    """Take these cases, and the requests of the same names, out of the duel's own copy of the contract.

    Raises:
        InputError: no request is left.
    """
    for name in (CASES, REQUESTS):
        file = duel.contract / name
        lines = [line for line in file.read_text("utf-8").split("\n") if line.strip()]
        retained = [line for line in lines if json.loads(line)["name"] not in left_out]
        if name == REQUESTS and not retained:
            raise InputError(
                "no request is answered alike by both versions",
                place="--allow",
                found=", ".join(sorted(left_out)),
            )
        file.write_text("".join(f"{line}\n" for line in retained), "utf-8")

# SPDX-License-Identifier: Apache-2.0
"""``rematch claims``: what became of what articles claim."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import completion
from harness.cli.options import fields_of
from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.model.claim import Claim
    from harness.questions.claims import JudgedClaim, JudgedTest
    from harness.questions.claims.measured import Measured

#: Verdict on the command line -> in the ledger.
VERDICTS = {
    "holds": "holds",
    "weaker": "holds_weaker",
    "stronger": "holds_stronger",
    "reversed": "reversed",
    "does-not-hold": "does_not_hold_today",
    "contradicted": "contradicted_by_its_own_numbers",
    "inconclusive": "inconclusive",
    "untestable": "untestable_here",
}


def claims_command(
    claim: Annotated[
        str | None,
        typer.Argument(
            help="claim to show whole, such as N4; default: all", autocompletion=completion.claims
        ),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="only claims of this source, such as nelson2020; may be repeated")
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(help=f"only claims with this verdict: {', '.join(VERDICTS)}; may be repeated"),
    ] = None,
    bundled: Annotated[bool, typer.Option("--bundled", help="judge from the bundled sessions alone")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="show each claim whole, with the evidence that was passed over")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List published claims with their verdicts, or show one whole.

    A claim is judged by the numbers that its source printed, and by the best of the experiments that could judge it:
    warm processes before young ones, trials that speak of the services, more blocks, a known commit, the newer session.
    Of each experiment that is the newest complete session measured here, else the bundled one.

    Examples:

        rematch claims

        rematch claims N4

        rematch claims --source tivrfoa2024 --verdict holds --json
    """
    from harness.definitions.claims import load_ledgers

    root = find_root()
    ledger = load_ledgers(root)
    _check(ledger, claim, source or [], verdict or [])
    judged = judge(root, ledger, bundled_only=bundled)
    shown = [
        item
        for item in judged
        if (claim is None or item.name == claim)
        and (not source or item.claim.source in source)
        and (not verdict or item.verdict.value in {VERDICTS[name] for name in verdict})
    ]
    if as_json:
        plain = [as_plain(item) for item in shown]
        print(json.dumps(plain[0] if claim is not None and plain else plain, indent=1, allow_nan=False))
        return
    from harness.cli.claims_text import print_claim, print_list

    if verbose or (claim is not None and shown):
        for place, item in enumerate(shown):
            print("\n" if place else "", end="")
            print_claim(item)
    else:
        print_list(shown)


def judge(root: Path, ledger: dict[str, Claim], *, bundled_only: bool = False) -> tuple[JudgedClaim, ...]:
    """Return every claim with its verdict.

    All are judged, whichever are shown: the p-values of a family are adjusted together.
    """
    from harness.questions.claims import PublishedTables, judge_claims, newest_evidence

    return judge_claims(ledger, newest_evidence(root, bundled_only=bundled_only), PublishedTables(root))


def _check(ledger: dict[str, Claim], claim: str | None, sources: list[str], verdicts: list[str]) -> None:
    if claim is not None and claim not in ledger:
        near = difflib.get_close_matches(claim, ledger, n=1, cutoff=0.4)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(
            f"no such claim{hint}", place="CLAIM", found=claim, allowed="a name that rematch claims lists"
        )
    known = sorted({item.source for item in ledger.values()})
    for name in sources:
        if name not in known:
            raise InputError("no such source", place="--source", found=name, allowed=", ".join(known))
    for name in verdicts:
        if name not in VERDICTS:
            raise InputError("no such verdict", place="--verdict", found=name, allowed=", ".join(VERDICTS))


def as_plain(claim: JudgedClaim) -> dict[str, Any]:
    """Return a claim as plain values for JSON; ``null``: cannot be said."""
    return {
        "claim": claim.name,
        **claim.claim.model_dump(
            mode="json",
            include={
                "source", "origin", "statement", "workload", "condition", "metric", "printed", "quote", "page",
                "family", "opposes", "remark",
            },
        ),
        "verdict": claim.verdict.value,
        "measured_verdict": claim.measured_verdict.value,
        "tests": [_plain_test(test) for test in claim.tests],
        "facts": [{"what": fact.what, "published": value} for fact, value in claim.facts],
    }  # fmt: skip


def _plain_test(test: JudgedTest) -> dict[str, Any]:
    from harness.questions.claims.words import unit

    measured = None
    if test.measured is not None:
        measured = _plain_number(test.measured) | fields_of(
            test.judgement, "margin", "p_adjusted", "n_family"
        )
    return {
        "what": test.test.what,
        "predicate": test.test.predicate.model_dump(mode="json"),
        "unit": unit(test.test),
        **fields_of(test, "published", "published_holds", "outcome", "size"),
        "why": test.judgement.why,
        "measured": measured,
        "passed_over": [
            {
                "number": passed.number.model_dump(mode="json"),
                **fields_of(passed, "session", "why"),
                "measured": None if passed.measured is None else _plain_number(passed.measured),
            }
            for passed in test.passed_over
        ],
    }


def _plain_number(measured: Measured) -> dict[str, Any]:
    estimate = measured.estimate
    return {
        "number": measured.number.model_dump(mode="json"),
        **fields_of(measured, "session", "machine"),
        "value": estimate.value if measured.below is None else None,
        **fields_of(estimate, "low", "high"),
        "below": measured.below,
        "level": estimate.level,
        **fields_of(measured, "n", "young", "warm", "bound_by", "not_about"),
    }

# SPDX-License-Identifier: Apache-2.0
"""``rematch claims``: what became of what articles claim; a line for each, one whole, or as JSON."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from harness.cli.lines import table, wrapped
from harness.cli.options import AsJson
from harness.definitions.claims import load_ledgers
from harness.errors import InputError
from harness.model.age import with_age
from harness.model.claim import Claim, ClaimVerdict, RowFilter
from harness.model.digits import fixed, whole_percent
from harness.model.formatting import show
from harness.model.phrases import counted
from harness.project import find_root
from harness.questions import claims
from harness.questions.claims import JudgedClaim, JudgedTest, counts
from harness.questions.claims.words import (
    OUTCOME_WORDS,
    VERDICT_WORDS,
    compared_words,
    here_words,
    measured_words,
    number,
    outcome_words,
    passed_over_words,
    place_words,
    predicate_words,
    unit,
    verdict_words,
)
from harness.rows.limits import FACTS
from harness.rows.text import estimate_of

#: Verdict on the command line, in the ledger, and where a column has little room.
_VERDICTS = (
    ("holds", ClaimVerdict.HOLDS, "holds"),
    ("weaker", ClaimVerdict.HOLDS_WEAKER, "holds, weaker"),
    ("stronger", ClaimVerdict.HOLDS_STRONGER, "holds, stronger"),
    ("reversed", ClaimVerdict.REVERSED, "reversed"),
    ("does-not-hold", ClaimVerdict.DOES_NOT_HOLD, "does not hold"),
    ("contradicted", ClaimVerdict.CONTRADICTED, "own numbers"),
    ("inconclusive", ClaimVerdict.INCONCLUSIVE, "inconclusive"),
    ("untestable", ClaimVerdict.UNTESTABLE, "untestable"),
)
VERDICTS = {name: verdict for name, verdict, _ in _VERDICTS}
_SHORT = {verdict: text for _, verdict, text in _VERDICTS}
_HANG = " " * 13
#: Columns of a row in JSON.
_PRINTED = (
    "session", "machine", "value", "low", "high", "below", "level", "n", "young", "warm", "bound_by", "says", "margin",
)  # fmt: skip


def claims_command(
    claim: Annotated[
        str | None,
        typer.Argument(help="claim to show whole, such as N4; default: all"),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="only claims of this source, such as nelson2020; may be repeated")
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(help=f"only claims with this verdict: {', '.join(VERDICTS)}; may be repeated"),
    ] = None,
    bundled: Annotated[bool, typer.Option("--bundled", help="judge from the bundled sessions alone")] = False,
    as_json: AsJson = False,
) -> None:
    """List published claims with their verdicts, or show one whole.

    A claim is judged by the numbers that its source printed, and by the best of the experiments that could judge it:
    warm processes before young ones, trials that speak of the services, more blocks, a known commit, the newer session.
    Of each experiment that is the newest complete session measured here, else the bundled one.

    \b
    Examples:
        rematch claims
        rematch claims N4
        rematch claims --source tivrfoa2024 --verdict holds --json
    """
    root = find_root()
    _check(load_ledgers(root), claim, source or [], verdict or [])
    # All are judged, whichever are shown: the p-values of a family are adjusted together.
    sessions = claims.newest_sessions(root, claims.experiments(root), bundled_only=bundled)
    judged = claims.judge_all(sessions, root=root)
    shown = [
        each
        for each in judged
        if (claim is None or each.name == claim)
        and (not source or each.claim.source in source)
        and (not verdict or each.verdict in {VERDICTS[name] for name in verdict})
    ]
    if as_json:
        plain = [as_plain(each) for each in shown]
        print(json.dumps(plain[0] if claim is not None and plain else plain, indent=1, allow_nan=False))
    elif claim is not None and shown:
        print_claim(shown[0])
    else:
        print_list(shown)


def _check(ledger: Mapping[str, Claim], claim: str | None, sources: list[str], verdicts: list[str]) -> None:
    if claim is not None and claim not in ledger:
        near = difflib.get_close_matches(claim, ledger, n=1, cutoff=0.4)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(
            f"no such claim{hint}", place="CLAIM", found=claim, allowed="a name that rematch claims lists"
        )
    known = sorted({each.source for each in ledger.values()})
    for name in sources:
        if name not in known:
            raise InputError("no such source", place="--source", found=name, allowed=", ".join(known))
    for name in verdicts:
        if name not in VERDICTS:
            raise InputError("no such verdict", place="--verdict", found=name, allowed=", ".join(VERDICTS))


def print_list(judged: Sequence[JudgedClaim]) -> None:
    """Print the counts by verdict, and one line a claim."""
    words = {verdict: text.replace(" its ", " their ") for verdict, text in VERDICT_WORDS.items()}
    numbers = ", ".join(f"{n} {words[verdict]}" for verdict, n in counts(judged).items() if n)
    print(wrapped(f"{counted(len(judged), 'claim')}" + (f": {numbers}." if numbers else ".")))
    if not judged:
        return
    rows = [test.row for claim in judged for test in claim.tests if test.row is not None]
    sessions = sorted({row["session"] for row in rows})
    print(wrapped(f"Judged from {', '.join(sessions) or 'published numbers alone'}.", hang="  "))
    machines = sorted({row["machine"] for row in rows})
    if machines:
        print(wrapped(f"Measured on {'; '.join(machines)}.", hang="  "))
    print()
    lines = [
        (claim.name, _SHORT[claim.verdict], f"{claim.claim.statement} [{_number(claim)}]") for claim in judged
    ]
    print(table(("claim", "verdict", "statement"), lines))
    print()
    print(
        wrapped(
            "claimed: the number, or ratio, that the claim needs; here: what was measured, or was printed where the "
            "claim's own numbers (verdict: own numbers) contradict it. All of one claim: rematch claims NAME."
        )
    )


def _number(claim: JudgedClaim) -> str:
    """Return what a claim needs and what there is, of the test that decided: ``claimed > 0.5, here 0.42``."""
    test, measured = claim.contradiction or claim.shown, ""
    if test is claim.contradiction and test.published is not None:
        measured = number(test.published, unit(test.test))
    elif test.row is not None and test.row["below"] is not None:
        measured = here_words(test.row)
    elif test.row is not None:
        measured = with_age(show(estimate_of(test.row)).text, test.row["young"])
    words = f"claimed {predicate_words(test.test)}{f', here {measured}' if measured else ''}"
    for long, short in (("\N{NARROW NO-BREAK SPACE}", " "), ("above ", "> "), ("below ", "< ")):
        words = words.replace(long, short)
    return words.replace("between ", "").replace(" and ", "-")


def print_claim(judged: JudgedClaim) -> None:
    """Print one claim whole."""
    claim = judged.claim
    print(wrapped(f"{judged.name}: {verdict_words(judged)}"))
    print()
    for head, text in (
        ("statement", claim.statement),
        ("source", f"{claim.source} ({claim.origin})"),
        ("workload", claim.workload),
        ("condition", claim.condition),
        ("metric", claim.metric),
        ("printed", claim.printed or "no number"),
        ("family", claim.family),
        ("quote", claim.quote),
        ("page", claim.page),
        ("remark", claim.remark),
        ("opposite", None if not claim.opposes else f"{', '.join(claim.opposes)} says the opposite"),
    ):
        _line(head, text)
    for place, test in enumerate(judged.tests, start=1):
        print()
        _print_test(test, f"{place} of {len(judged.tests)}")
    if judged.facts:
        print()
        print("Also printed there:")
        for fact, value in judged.facts:
            ratio = "ratio" if fact.published.is_ratio else "1"
            print(wrapped(f"- {fact.what}: {number(value, ratio)}", indent="  ", hang="    "))


def _print_test(judged: JudgedTest, place: str) -> None:
    test, row, judgement = judged.test, judged.row, judged.judgement
    print(wrapped(f"Number {place}: {test.what}", hang="  "))
    _line("claimed", predicate_words(test))
    if test.published is not None and judged.published is not None:
        holds = OUTCOME_WORDS["holds" if judged.published_holds else "fails"]
        printed = number(judged.published, unit(test))
        _line("published", f"{printed}, {holds} ({place_words(test.published)})")
    _line("then", outcome_words(judged.then))
    _line("here", measured_words(judged))
    _line("since then", judged.not_reproduced)
    for candidate in judged.choice.passed_over:
        _line("passed over", passed_over_words(candidate))
    if row is None:
        return
    _line("compared", compared_words(row["filter"]))
    _line("session", f"{row['session']}; {row['machine']}")
    if row["metric"] not in FACTS:
        _line(
            "trials",
            f"{row['n']} {'trials' if row['kind'] == 'mean' else 'pairs of trials'}; {row['method']}",
        )
    if row["kind"] == "ratio" and row["metric"] not in FACTS:
        _line("margin", "none" if row["margin"] is None else whole_percent(row["margin"]))
    _line("age", ", ".join(filter(None, (row["age"], row["reference_age"]))) or None)
    _line("bound by", row["bound_by"])
    if judgement.p_adjusted is not None:
        _line("adjusted p", f"{fixed(judgement.p_adjusted, 3)} over {judgement.n_family} numbers")


def _line(head: str, text: str | None) -> None:
    if text is not None:
        print(wrapped(text, indent=f"  {head:<10} ", hang=_HANG))


def as_plain(judged: JudgedClaim) -> dict[str, Any]:
    """Return a claim as plain values for JSON; ``null``: cannot be said."""
    return {
        "claim": judged.name,
        **judged.claim.model_dump(
            mode="json",
            include={
                "source", "origin", "statement", "workload", "condition", "metric", "printed", "quote", "page",
                "family", "opposes", "remark",
            },
        ),
        "verdict": judged.verdict.value,
        "measured_verdict": judged.measured_verdict.value,
        "tests": [_plain_test(test) for test in judged.tests],
        "facts": [{"what": fact.what, "published": value} for fact, value in judged.facts],
    }  # fmt: skip


def _plain_test(judged: JudgedTest) -> dict[str, Any]:
    judgement = judged.judgement
    return {
        "what": judged.test.what,
        "predicate": judged.test.predicate.model_dump(mode="json"),
        "unit": unit(judged.test),
        "published": judged.published,
        "published_holds": judged.published_holds,
        "outcome": judged.outcome,
        "size": judged.size,
        "why": judgement.why,
        "then": {"outcome": judged.then.outcome, "why": judged.then.why},
        "then_ours": {"outcome": judged.then_ours.outcome, "why": judged.then_ours.why},
        "not_reproduced": judged.not_reproduced,
        "measured": None
        if judged.row is None
        else _plain_row(judged.row["filter"], judged.row)
        | {"p_adjusted": judgement.p_adjusted, "n_family": judgement.n_family},
        "passed_over": [
            {
                "number": candidate.filter.model_dump(mode="json"),
                "why": candidate.why,
                "measured": None if candidate.row is None else _plain_row(candidate.filter, candidate.row),
            }
            for candidate in judged.choice.passed_over
        ],
    }


def _plain_row(number: RowFilter, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"number": number.model_dump(mode="json")} | {name: row[name] for name in _PRINTED}

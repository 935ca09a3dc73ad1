# SPDX-License-Identifier: Apache-2.0
"""``rematch claims``: what became of what articles claim; a line for each, one whole, or as JSON."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from harness.cli.options import AsJson, fields_of, say, table
from harness.definitions.claims import load_ledgers
from harness.errors import InputError
from harness.model.age import with_age
from harness.model.claim import RowFilter
from harness.model.digits import fixed, whole_percent
from harness.model.formatting import counted, show
from harness.project import find_root
from harness.questions import claims
from harness.questions.claims import JudgedClaim, JudgedTest, counts
from harness.questions.claims.evaluation import Judgement
from harness.questions.claims.words import (
    OUTCOME_WORDS,
    VERDICT_WORDS,
    compared_words,
    here_words,
    measured_words,
    number,
    passed_over_words,
    place_words,
    predicate_words,
    then_words,
    unit,
    verdict_words,
)
from harness.rows.limits import FACTS
from harness.rows.text import estimate_of

#: What a verdict says more than a column has room for.
_SHORTER = re.compile(r" (by its own numbers|here|today)$")
#: Fields of a claim in JSON.
_FIELDS = {
    "source", "origin", "statement", "workload", "condition", "metric", "printed", "quote", "page", "family", "opposes",
    "remark",
}  # fmt: skip
#: Columns of a row in JSON.
_PRINTED = (
    "session", "machine", "value", "low", "high", "below", "level", "n", "young", "warm", "bound_by", "says", "margin",
)  # fmt: skip


def claims_command(
    claim: Annotated[
        str | None,
        typer.Argument(help="claim to show whole, such as N4; default: all"),
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
        rematch claims --bundled --json
    """
    root = find_root()
    ledger = load_ledgers(root)
    if claim is not None and claim not in ledger:
        near = difflib.get_close_matches(claim, ledger, n=1, cutoff=0.4)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        allowed = "a name that rematch claims lists"
        raise InputError(f"no such claim{hint}", place="CLAIM", found=claim, allowed=allowed)
    # All are judged, whichever is shown: the p-values of a family are adjusted together.
    sessions = claims.newest_sessions(root, claims.experiments(root), bundled_only=bundled)
    judged = {each.name: each for each in claims.judge_all(sessions, root=root)}
    if as_json:
        plain = {name: _as_plain(each) for name, each in judged.items() if claim in (None, name)}
        print(json.dumps(plain[claim] if claim else list(plain.values()), indent=1, allow_nan=False))
    elif claim is not None:
        _print_claim(judged[claim])
    else:
        _print_list(list(judged.values()))


def _print_list(judged: Sequence[JudgedClaim]) -> None:
    """Print the counts by verdict, and one line a claim."""
    words = {verdict: text.replace(" its ", " their ") for verdict, text in VERDICT_WORDS.items()}
    numbers = ", ".join(f"{n} {words[verdict]}" for verdict, n in counts(judged).items() if n)
    say(f"{counted(len(judged), 'claim')}: {numbers}.")
    rows = [test.row for claim in judged for test in claim.tests if test.row is not None]
    sessions, machines = (sorted({row[name] for row in rows}) for name in ("session", "machine"))
    say(f"Judged from {', '.join(sessions) or 'published numbers alone'}.", hang="  ")
    if machines:
        say(f"Measured on {'; '.join(machines)}.", hang="  ")
    print()
    short = {verdict: _SHORTER.sub("", text) for verdict, text in VERDICT_WORDS.items()}
    lines = [
        (claim.name, short[claim.verdict], f"{claim.claim.statement} [{_number(claim)}]") for claim in judged
    ]
    print(table(("claim", "verdict", "statement"), lines))
    print()
    say(
        "claimed: the number, or ratio, that the claim needs; here: what was measured, or was printed where the "
        "claim's own numbers contradict it. All of one claim: rematch claims NAME."
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


def _print_claim(judged: JudgedClaim) -> None:
    """Print one claim whole."""
    claim = judged.claim
    say(f"{judged.name}: {verdict_words(judged)}")
    print()
    _print_pairs(
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
        ("opposite", claim.opposes and f"{', '.join(claim.opposes)} says the opposite"),
    )
    for place, test in enumerate(judged.tests, start=1):
        print()
        say(f"Number {place} of {len(judged.tests)}: {test.test.what}", hang="  ")
        _print_pairs(*_of_test(test))
    if judged.facts:
        print("\nAlso printed there:")
    for fact, value in judged.facts:
        of = "ratio" if fact.published.is_ratio else "1"
        say(f"- {fact.what}: {number(value, of)}", indent="  ", hang="    ")


def _of_test(judged: JudgedTest) -> Iterable[tuple[str, Any]]:
    test, row, judgement = judged.test, judged.row, judged.judgement
    yield "claimed", predicate_words(test)
    if test.published is not None and judged.published is not None:
        holds = OUTCOME_WORDS["holds" if judged.published_holds else "fails"]
        yield "published", f"{number(judged.published, unit(test))}, {holds} ({place_words(test.published)})"
    yield "then", then_words(judged.then)
    yield "then, ours", then_words(judged.then_ours) if test.then_ours else None
    yield "here", measured_words(judged)
    yield "since then", judged.not_reproduced
    for candidate in judged.choice.passed_over:
        yield "passed over", passed_over_words(candidate)
    if row is None:
        return
    yield "compared", compared_words(row["filter"])
    yield "session", f"{row['session']}; {row['machine']}"
    if row["metric"] not in FACTS:
        of = "trials" if row["kind"] == "mean" else "pairs of trials"
        yield "trials", f"{row['n']} {of}; {row['method']}"
        if row["kind"] == "ratio":
            yield "margin", "none" if row["margin"] is None else whole_percent(row["margin"])
    yield "age", ", ".join(filter(None, (row["age"], row["reference_age"])))
    yield "bound by", row["bound_by"]
    if judgement.p_adjusted is not None:
        yield "adjusted p", f"{fixed(judgement.p_adjusted, 3)} over {judgement.n_family} numbers"


def _print_pairs(*pairs: tuple[str, Any]) -> None:
    for head, text in pairs:
        if text:
            say(str(text), indent=f"  {head:<10} ", hang=" " * 13)


def _as_plain(judged: JudgedClaim) -> dict[str, Any]:
    """Return a claim as plain values for JSON; ``null``: cannot be said."""
    return {
        "claim": judged.name,
        **judged.claim.model_dump(mode="json", include=_FIELDS),
        "verdict": judged.verdict.value,
        "measured_verdict": judged.measured_verdict.value,
        "tests": [_plain_test(test) for test in judged.tests],
        "facts": [{"what": fact.what, "published": value} for fact, value in judged.facts],
    }


def _plain_test(judged: JudgedTest) -> dict[str, Any]:
    judgement, row = judged.judgement, judged.row
    measured = (
        None
        if row is None
        else _plain_row(row["filter"], row) | fields_of(judgement, "p_adjusted", "n_family")
    )
    return {
        **judged.test.model_dump(mode="json", include={"what", "predicate"}),
        "unit": unit(judged.test),
        **fields_of(judged, "published", "published_holds", "outcome", "size"),
        "why": judgement.why,
        "then": _plain_then(judged.then),
        "then_ours": _plain_then(judged.then_ours),
        "not_reproduced": judged.not_reproduced,
        "measured": measured,
        "passed_over": [
            {
                "number": candidate.filter.model_dump(mode="json"),
                "why": candidate.why,
                "measured": candidate.row and _plain_row(candidate.filter, candidate.row),
            }
            for candidate in judged.choice.passed_over
        ],
    }


def _plain_then(judgement: Judgement) -> dict[str, Any]:
    row = judgement.row
    measured = None if row is None else _plain_row(row["filter"], row)
    return fields_of(judgement, "outcome", "why") | {"measured": measured}


def _plain_row(number: RowFilter, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"number": number.model_dump(mode="json")} | {name: row[name] for name in _PRINTED}

# SPDX-License-Identifier: Apache-2.0
"""``rematch claims``: what became of what articles claim."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.model.claim import Claim

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
    as_csv: Annotated[
        bool, typer.Option("--csv", help="print CSV: a line for each number, with its verdicts then and now")
    ] = False,
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
        rematch claims --csv
    """
    from harness.cli.claims_text import as_plain, print_claim, print_list
    from harness.definitions.claims import load_ledgers
    from harness.questions import claims

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
        and (not verdict or each.verdict.value in {VERDICTS[name] for name in verdict})
    ]
    if as_json:
        plain = [as_plain(each) for each in shown]
        print(json.dumps(plain[0] if claim is not None and plain else plain, indent=1, allow_nan=False))
        return
    if as_csv:
        whole = sessions if len(shown) == len(judged) else None
        claims.data_set(shown, whole, root=root).to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    if verbose or (claim is not None and shown):
        for place, each in enumerate(shown):
            print("\n" if place else "", end="")
            print_claim(each)
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

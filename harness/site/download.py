# SPDX-License-Identifier: Apache-2.0
"""The data of the page as one archive beside it: the same content gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Sequence

from harness.site.claims import ClaimRow
from harness.site.published import Published
from harness.site.trials import METRICS, TrialRow
from harness.site.verdicts import VerdictRow

NAME = "rematch-results.zip"
_README = """Results of Rematch: the data behind the results page. UTF-8; an empty cell: nothing was measured.

values.csv       every published number: key, value, interval (95 %), unit, estimand, method, its trials
tables.json      every published table as it is printed
trials.csv       every trial that a number rests on, in SI units: s, bytes, 1/s
comparisons.csv  every comparison with the reference: 95 % and 90 % interval, blocks, noise, margin, verdict
claims.csv       published claims with their verdicts: one row a number of a claim

Raw records: data/raw in the repository. From a key to its trials: rematch trace KEY. Licence: CC-BY-4.0.
"""
_YEAR_ONE = (1980, 1, 1, 0, 0, 0)


def archive(
    published: Published,
    trials: Sequence[TrialRow],
    verdicts: Sequence[VerdictRow],
    claims: Sequence[ClaimRow],
) -> bytes:
    """Return a ZIP with the tables that its README.txt lists."""
    numbers = [one for section in published.sections for one in section.numbers]
    files = {
        "README.txt": _README,
        "values.csv": _csv(
            ("key", "value", "low", "high", "unit", "text", "estimand", "method", "n_trials", "notebook", "trials"),
            (
                (n.key, n.value, n.low, n.high, n.unit, n.text, n.estimand, n.method, n.n_trials, n.notebook,
                 " ".join(n.trials))
                for n in numbers
            ),
        ),
        "tables.json": json.dumps(
            {
                table.key: {"caption": table.caption, "header": table.header, "rows": table.rows, "notes": table.notes}
                for section in published.sections
                for table in section.tables
            },
            ensure_ascii=False,
            indent=1,
        ),
        "trials.csv": _csv(
            ("trial", "variant", "levels", "block", "outcome", "flags", *METRICS),
            ((t.key, t.variant, t.cell, t.block, t.outcome, t.flags, *t.values) for t in trials),
        ),
        "comparisons.csv": _csv(
            ("session", "metric", "levels", "variant", "ratio", *(names := _deciding(verdicts)), "verdict"),
            (
                (v.session, v.metric, v.cell, v.variant, v.ratio, *(v.decides[name] for name in names), v.verdict)
                for v in verdicts
            ),
        ),
        "claims.csv": _csv(
            ("claim", "source", "statement", "verdict", "number", "claimed", "printed", "here", "bound_by", "session"),
            (
                (c.name, c.source, c.statement, c.verdict, t.what, t.claimed, t.printed, t.here, t.bound, t.session)
                for c in claims
                for t in c.tests
            ),
        ),
    }  # fmt: skip
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, text in files.items():
            out.writestr(zipfile.ZipInfo(name, _YEAR_ONE), text.encode("utf-8"), zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def _deciding(verdicts: Sequence[VerdictRow]) -> tuple[str, ...]:
    return tuple(verdicts[0].decides) if verdicts else ()


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()

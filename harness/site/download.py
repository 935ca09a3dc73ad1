# SPDX-License-Identifier: Apache-2.0
"""The data of the page as one archive beside it: the same content gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Sequence

import pandas as pd

from harness.site.published import Section, printed, trials_of
from harness.site.trials import METRICS, TrialRow

NAME = "rematch-results.zip"
_README = """Results of Rematch: the data behind the results page. UTF-8; an empty cell: nothing was measured.

values.csv   every published number: key, value, interval, unit, verdict and margin of a ratio, estimand, its trials
tables.json  every published table as it is printed
trials.csv   every trial that a number rests on, in SI units: s, bytes, 1/s
claims.csv   published claims, one row a number, with verdicts then and now (docs/data-dictionary.md in the repository)

Raw records: data/raw in the repository. From a key to its trials: rematch trace KEY. Licence: CC-BY-4.0.
"""
_YEAR_ONE = (1980, 1, 1, 0, 0, 0)


#: Columns of values.csv that stand so in a value.
_VALUE = (
    "value",
    "low",
    "high",
    "unit",
    "verdict",
    "margin",
    "n_blocks",
    "n_trials",
    "estimand",
    "method",
    "notebook",
)


def archive(sections: Sequence[Section], trials: Sequence[TrialRow], ledger: pd.DataFrame) -> bytes:
    """Return a ZIP with the tables that its README.txt lists. ``ledger``: claims with their verdicts."""
    files = {
        "README.txt": _README,
        "values.csv": _csv(
            ("key", *_VALUE, "text", "trials"),
            (
                (key, *(entry.get(name) for name in _VALUE), printed(entry), " ".join(trials_of(entry)))
                for section in sections
                for key, entry in section.values.items()
            ),
        ),
        "tables.json": json.dumps(
            {
                key: {name: table[name] for name in ("caption", "header", "rows", "notes")}
                for section in sections
                for key, table in section.tables.items()
            },
            ensure_ascii=False,
            indent=1,
        ),
        "trials.csv": _csv(
            ("trial", "variant", "levels", "block", "outcome", "flags", *METRICS),
            ((t.key, t.variant, t.cell, t.block, t.outcome, t.flags, *t.values) for t in trials),
        ),
        "claims.csv": ledger.to_csv(index=False, lineterminator="\n"),
    }  # fmt: skip
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, text in files.items():
            out.writestr(zipfile.ZipInfo(name, _YEAR_ONE), text.encode("utf-8"), zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()

# SPDX-License-Identifier: Apache-2.0
"""The bibliography against the text: every citation has an entry, every entry is cited or listed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from harness.errors import InputError

REFERENCES = "references.bib"
_ENTRY = re.compile(r"^\s*@(?!comment|string|preamble)\w+\s*\{\s*([^,\s]+)\s*,", re.MULTILINE | re.IGNORECASE)
#: ``\nocite{key}`` lists an entry that no sentence cites.
_CITED = re.compile(r"\\(?:no)?cite[a-z]*\*?(?:\[[^]]*\])*\{([^}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%.*")


def cited_keys(sources: Iterable[str]) -> set[str]:
    """Return the keys that LaTeX sources cite or list; what is commented out does not count."""
    return {
        key.strip()
        for text in sources
        for keys in _CITED.findall(_COMMENT.sub("", text))
        for key in keys.split(",")
        if key.strip()
    }


def problems_of(references: str, sources: Iterable[str]) -> list[str]:
    """Return one sentence for each key without an entry, entry without a citation, and key given twice."""
    entries = Counter(_ENTRY.findall(references))
    cited = cited_keys(sources)
    found = [f"\\cite{{{key}}} has no entry" for key in sorted(cited - entries.keys() - {"*"})]
    if "*" not in cited:
        found += [f"{key} is neither cited nor listed by \\nocite" for key in sorted(entries.keys() - cited)]
    return found + [f"{key} has {n} entries" for key, n in sorted(entries.items()) if n > 1]


def check_bibliography(paper: Path) -> int:
    """Compare ``references.bib`` of a paper's folder with ``main.tex``, ``sections/`` and ``generated/``.

    Returns:
        How many entries there are.

    Raises:
        InputError: they do not agree, or a file is missing.
    """
    file = paper / REFERENCES
    sources = [paper / "main.tex", *sorted((paper / "sections").glob("*.tex"))]
    sources += sorted((paper / "generated").rglob("*.tex"))
    try:
        references = file.read_text("utf-8")
        problems = problems_of(references, (source.read_text("utf-8") for source in sources))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=error.filename) from None
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError(
            f"text and bibliography differ: {problems[0]}{more}",
            file=file,
            allowed="an entry for every citation; a citation or \\nocite for every entry",
        )
    return len(set(_ENTRY.findall(references)))

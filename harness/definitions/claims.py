# SPDX-License-Identifier: Apache-2.0
"""The ledgers of published claims, from TOML to the model, with all that they refer to checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from harness.definitions.extending import read_definition
from harness.definitions.strict_files import short, text_of, to_model, toml_of, unknown
from harness.errors import InputError
from harness.model.claim import Above, Below, Claim, Ledger, NoVerdictThen, RowFilter
from harness.project import EXPERIMENTS, LEDGERS, experiment_paths

PUBLISHED = Path("data") / "published"
REFERENCES = Path("paper") / "references.bib"
#: The factor of an experiment whose load has parts.
PART = "part"
_ENTRY = re.compile(r"^@\w+\{([^,\s]+),(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (title|year|howpublished) = \{(.*)\},?$", re.MULTILINE)


class Reference(NamedTuple):
    """An entry of the paper's references, without braces; what it does not have is empty."""

    title: str
    year: str
    place: str


def load_claims(root: Path, ledger: str = LEDGERS[0]) -> dict[str, Claim]:
    """Return the claims of a ledger by their name, in the file's order.

    Raises:
        InputError: broken TOML, an unknown or ill-typed key, a source that is not among the references, a table
            that is not there, or an experiment, variant, factor or level of nothing.
    """
    path = short(root / EXPERIMENTS / f"{ledger}.toml")
    content = _ledger(path, text_of(path))
    check = _Check(root, path)
    for source, reason in content.not_then.items():
        check.known("source", source, check.sources, f"not_then.{source}")
        for number, row in enumerate(reason.rows):
            check.row(f"not_then.{source}.rows.{number}", row)
    for name, claim in content.claims.items():
        check.claim(f"claims.{name}", claim, content)
    return dict(content.claims)


def load_not_then(root: Path) -> dict[str, NoVerdictThen]:
    """Return source -> why its claims have no verdict of their time where no row is named, of all ledgers."""
    paths = [short(root / EXPERIMENTS / f"{ledger}.toml") for ledger in LEDGERS]
    return {source: why for path in paths for source, why in _ledger(path, text_of(path)).not_then.items()}


def references(root: Path) -> dict[str, Reference]:
    """Return the paper's references by their key.

    Raises:
        InputError: the file cannot be read.
    """
    path = root / REFERENCES
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=short(path)) from None
    entries = {}
    for key, body in _ENTRY.findall(text):
        fields = {name: value.replace("{", "").replace("}", "") for name, value in _FIELD.findall(body)}
        entries[key] = Reference(*(fields.get(name, "") for name in ("title", "year", "howpublished")))
    return entries


@lru_cache(maxsize=8)
def _ledger(path: Path, text: str) -> Ledger:
    """Return what a ledger says; the same text is read once in a process."""
    return to_model(Ledger, toml_of(text, path), path)


def load_ledgers(root: Path) -> dict[str, Claim]:
    """Return the claims of all ledgers by their name: of articles, then of the makers of runtimes.

    Raises:
        InputError: as of :func:`load_claims`; or two ledgers have a claim of one name.
    """
    result: dict[str, Claim] = {}
    for ledger in LEDGERS:
        claims = load_claims(root, ledger)
        twice = sorted(set(result) & set(claims))
        if twice:
            path = short(root / EXPERIMENTS / f"{ledger}.toml")
            raise InputError("another ledger has a claim of this name", file=path, place=f"claims.{twice[0]}")
        result |= claims
    return result


class _Check:
    """Whether all that claims refer to is there; files are read once."""

    def __init__(self, root: Path, path: Path) -> None:
        self._root, self._path = root, path
        self.sources = references(root)
        self._tables = {file.stem for file in (root / PUBLISHED).glob("*.csv")}
        self._files = experiment_paths(root)
        self._read: dict[str, Mapping[str, Any]] = {}

    def claim(self, place: str, claim: Claim, ledger: Ledger) -> None:
        self.known("source", claim.source, self.sources, f"{place}.source")
        for number, test in enumerate(claim.tests):
            at = f"{place}.tests.{number}"
            if test.published is not None:
                self.known("table", test.published.file, self._tables, f"{at}.published.file")
            for key in ("rows", "then", "then_ours"):
                for which, row in enumerate(getattr(test, key)):
                    self.row(f"{at}.{key}.{which}", row)
            if not test.then and claim.source not in ledger.not_then:
                raise InputError(
                    "no row of its time, and no reason", file=self._path, place=f"{at}.then",
                    allowed=f"rows of the source's programs, or not_then.{claim.source} with a reason",
                )  # fmt: skip
        for number, fact in enumerate(claim.facts):
            self.known("table", fact.published.file, self._tables, f"{place}.facts.{number}.published.file")
        for name in claim.opposes:
            self.known("claim", name, ledger.claims, f"{place}.opposes")
            if not opposite(claim, ledger.claims[name]):
                raise InputError(
                    "does not say the opposite", file=self._path, place=f"{place}.opposes", found=name,
                    allowed="a claim with a test of the same number, one above and one below its limit",
                )  # fmt: skip

    def row(self, place: str, row: RowFilter) -> None:
        self.known("experiment", row.experiment, self._files, f"{place}.experiment")
        data = self._experiment(row.experiment)
        factors: dict[str, Any] = dict(data.get("factors", {}))
        if PART in row.where:
            factors[PART] = {str(part): {} for part in range(1, 5)}
        for factor, level in row.where.items():
            self.known("factor", factor, factors, f"{place}.where")
            self.known("level", level, factors[factor], f"{place}.where.{factor}")
        variants = data.get("variants", {})
        self.known("variant", row.variant, variants, f"{place}.variant")
        if row.along is not None:
            self.known("level", str(row.reference), factors[row.along], f"{place}.reference")
        elif row.reference is not None:
            self.known("variant", row.reference, variants, f"{place}.reference")
        lacking = sorted(set(factors) - set(row.where))
        if lacking:
            raise InputError(
                "every factor of the experiment needs a level", file=self._path, place=f"{place}.where",
                found=", ".join(row.where) or "none", allowed=f"a level of {', '.join(lacking)} too",
            )  # fmt: skip

    def _experiment(self, name: str) -> Mapping[str, Any]:
        if name not in self._read:
            self._read[name] = read_definition(self._root, self._files[name]).content()
        return self._read[name]

    def known(self, what: str, name: str, known: Any, place: str) -> None:
        if name not in known:
            raise unknown(what, name, known, file=self._path, place=place)


def opposite(claim: Claim, opponent: Claim) -> bool:
    """Tell whether two claims say of one number that it is above and that it is below a limit, and both cannot be."""
    pairs = [
        sorted((test.predicate, against.predicate), key=lambda predicate: predicate.kind)
        for test in claim.tests
        for against in opponent.tests
        if test.what == against.what
    ]
    return any(
        isinstance(above, Above) and isinstance(below, Below) and above.limit >= below.limit
        for above, below in pairs
    )

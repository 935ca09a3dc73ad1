# SPDX-License-Identifier: Apache-2.0
"""The ledgers of published claims, from TOML to the model, with all that they refer to checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.definitions.strict_files import short, text_of, to_model, toml_of, unknown
from harness.errors import InputError
from harness.model.claim import Above, Below, Claim, Ledger, MeasuredNumber, PublishedNumber
from harness.project import EXPERIMENTS, LEDGERS, experiment_paths

PUBLISHED = Path("data") / "published"
REFERENCES = Path("paper") / "references.bib"
#: The factor of an experiment whose load has parts.
PART = "part"
_KEY = re.compile(r"^@\w+\{([^,\s]+),", re.MULTILINE)


def load_claims(root: Path, ledger: str = LEDGERS[0]) -> dict[str, Claim]:
    """Return the claims of a ledger by their name, in the file's order.

    Raises:
        InputError: broken TOML, an unknown or ill-typed key, a source that is not among the references, a table
            that is not there, or an experiment, variant, factor or level of nothing.
    """
    path = short(root / EXPERIMENTS / f"{ledger}.toml")
    claims = dict(_ledger(path, text_of(path)).claims)
    check = _Check(root, path)
    for name, claim in claims.items():
        check.claim(f"claims.{name}", claim, claims)
    return claims


@lru_cache(maxsize=8)
def _ledger(path: Path, text: str) -> Ledger:
    """Return what a ledger says; the same text is read once in a process."""
    return to_model(Ledger, toml_of(text, path), path)


@lru_cache(maxsize=128)
def _said(path: Path, text: str) -> Mapping[str, Any]:
    """Return what the text of an experiment says, which nobody changes; the same one is read once in a process."""
    return toml_of(text, path)


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
        self._path = path
        self._sources = _sources(root)
        self._tables = {file.stem for file in (root / PUBLISHED).glob("*.csv")}
        self._files = experiment_paths(root)
        self._read: dict[str, Mapping[str, Any]] = {}

    def claim(self, place: str, claim: Claim, all_claims: Mapping[str, Claim]) -> None:
        self._known("source", claim.source, self._sources, f"{place}.source")
        for number, test in enumerate(claim.tests):
            at = f"{place}.tests.{number}"
            if test.published is not None:
                self._published(f"{at}.published", test.published)
            for which, measured in enumerate(test.measured):
                self._measured(f"{at}.measured.{which}", measured)
        for number, fact in enumerate(claim.facts):
            self._published(f"{place}.facts.{number}.published", fact.published)
        for name in claim.opposes:
            self._known("claim", name, all_claims, f"{place}.opposes")
            if not opposite(claim, all_claims[name]):
                raise InputError(
                    "does not say the opposite", file=self._path, place=f"{place}.opposes", found=name,
                    allowed="a claim with a test of the same number, one above and one below its limit",
                )  # fmt: skip

    def _published(self, place: str, number: PublishedNumber) -> None:
        self._known("table", number.file, self._tables, f"{place}.file")

    def _measured(self, place: str, number: MeasuredNumber) -> None:
        self._known("experiment", number.experiment, self._files, f"{place}.experiment")
        data = self._experiment(number.experiment)
        for key, variant in (("variant", number.variant), ("over", number.over)):
            if variant is not None:
                self._known("variant", variant, data.get("variants", {}), f"{place}.{key}")
        factors: dict[str, Any] = dict(data.get("factors", {}))
        if number.parts:
            factors[PART] = {str(part): {} for part in range(1, 5)}
        given = dict(number.levels)
        for factor, level in given.items():
            self._known("factor", factor, factors, f"{place}.levels")
            self._known("level", level, factors[factor], f"{place}.levels.{factor}")
        if number.factor is not None:
            self._known("factor", number.factor, factors, f"{place}.factor")
            for key, name in (("level", number.level), ("base", number.base)):
                self._known("level", str(name), factors[number.factor], f"{place}.{key}")
            given[number.factor] = str(number.level)
        lacking = sorted(set(factors) - set(given))
        if lacking:
            raise InputError(
                "every factor of the experiment needs a level", file=self._path, place=f"{place}.levels",
                found=", ".join(given) or "none", allowed=f"a level of {', '.join(lacking)} too",
            )  # fmt: skip

    def _experiment(self, name: str) -> Mapping[str, Any]:
        if name not in self._read:
            self._read[name] = _said(self._files[name], text_of(self._files[name]))
        return self._read[name]

    def _known(self, what: str, found: str, known: Any, place: str) -> None:
        if found not in known:
            raise unknown(what, found, known, file=self._path, place=place)


def opposite(one: Claim, other: Claim) -> bool:
    """Tell whether two claims say of one number that it is above and that it is below a limit, and both cannot be."""
    for test in one.tests:
        for against in other.tests:
            if test.what != against.what:
                continue
            pair = sorted((test.predicate, against.predicate), key=lambda predicate: predicate.kind)
            above, below = pair
            if isinstance(above, Above) and isinstance(below, Below) and above.limit >= below.limit:
                return True
    return False


def _sources(root: Path) -> tuple[str, ...]:
    path = root / REFERENCES
    try:
        return tuple(_KEY.findall(path.read_text("utf-8")))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=short(path)) from None

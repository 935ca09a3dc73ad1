# SPDX-License-Identifier: Apache-2.0
"""A page taken apart: what it loads, where its links lead, and whether it can be read without seeing it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

from bs4 import BeautifulSoup


class Page:
    """Elements of a page in their order, as (tag, attributes, text within)."""

    def __init__(self, text: str) -> None:
        soup: Any = BeautifulSoup(text, "html.parser", multi_valued_attributes=None)
        self.elements: list[tuple[str, dict[str, str], str]] = [
            (tag.name, dict(tag.attrs), tag.get_text()) for tag in soup.find_all(True)
        ]

    def named(self, *tags: str) -> list[tuple[str, dict[str, str], str]]:
        """Elements of these tags."""
        return [element for element in self.elements if element[0] in tags]


def faults(page: Page) -> list[str]:
    """What is wrong with the structure of a page, in words; the checks need no browser."""
    ids = Counter(attributes["id"] for _, attributes, _ in page.elements if "id" in attributes)
    found = [f"the id {name} stands {n} times" for name, n in ids.items() if n > 1]
    for tag, attributes, text in page.elements:
        found += [f"{tag} has a handler {name}" for name in attributes if name.startswith("on")]
        for name in ("href", "src", "srcset", "action", "xlink:href"):
            target = attributes.get(name)
            if target is None or target.startswith("data:"):
                continue
            if target.startswith("#"):
                found += [] if target[1:] in ids else [f"a link to {target}, which is not there"]
            elif not (tag == "a" and re.fullmatch(r"(\.\./)?[\w./-]+\.html(#[\w.-]+)?", target)):
                found.append(f"{tag} {name} leads to {target}")
        if tag == "svg" and attributes.get("aria-hidden") != "true" and not attributes.get("aria-label"):
            found.append("a drawing without a text in its place")
        if tag == "img" and not attributes.get("alt"):
            found.append("a picture without a text in its place")
        if tag in ("a", "button", "summary") and not text.strip():
            found.append(f"{tag} without words: {attributes}")
        if tag == "th" and "scope" not in attributes:
            found.append(f"a head without scope: {text[:40]}")
        if "scroll" in attributes.get("class", "").split() and not (
            attributes.get("tabindex") and attributes.get("aria-label")
        ):
            found.append("a part that scrolls cannot be reached by keys")
    tables, captions = len(page.named("table")), len(page.named("caption"))
    found += [] if tables == captions else [f"{tables} tables, {captions} captions"]
    found += _headings([int(tag[1]) for tag, _, _ in page.named("h1", "h2", "h3", "h4")])
    found += _labels(page)
    return found


def _headings(levels: list[int]) -> list[str]:
    found = [] if levels[:1] == [1] and levels.count(1) == 1 else ["not one first heading, at the beginning"]
    return found + [
        f"a heading of level {b} after one of level {a}" for a, b in pairwise(levels) if b > a + 1
    ]


def _labels(page: Page) -> list[str]:
    """Inputs are named by a label, or stand within one that names nothing else."""
    named = {attributes["for"] for _, attributes, _ in page.named("label") if "for" in attributes}
    within = None
    found = []
    for tag, attributes, _ in page.elements:
        if tag == "label":
            within = "for" not in attributes
        elif tag in ("input", "select"):
            if not within and attributes.get("id") not in named:
                found.append(f"an input without a label: {attributes}")
            within = None
    return found

# SPDX-License-Identifier: Apache-2.0
"""A page taken apart: what it loads, where its links lead, and whether it can be read without seeing it."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "link", "input", "br", "img", "hr", "col"}


class Page(HTMLParser):
    """Elements of a page in their order, as (tag, attributes, text within)."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.unbalanced: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = (tag, {name: value or "" for name, value in attrs}, list[str]())
        self.elements.append(one)
        if tag not in _VOID:
            self._open.append(one)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()
        else:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        for one in self._open:
            one[2].append(data)

    def named(self, *tags: str) -> list[tuple[str, dict[str, str], str]]:
        """Elements of these tags."""
        return [(tag, attributes, "".join(text)) for tag, attributes, text in self.elements if tag in tags]


def faults(page: Page) -> list[str]:
    """What is wrong with the structure of a page, in words; the checks need no browser."""
    found = [f"</{tag}> closes nothing" for tag in page.unbalanced]
    ids = Counter(attributes["id"] for _, attributes, _ in page.elements if "id" in attributes)
    found += [f"the id {name} stands {n} times" for name, n in ids.items() if n > 1]
    for tag, attributes, text in page.named(*{tag for tag, _, _ in page.elements}):
        found += [f"{tag} has a handler {name}" for name in attributes if name.startswith("on")]
        for name in ("href", "src", "srcset", "action", "xlink:href"):
            target = attributes.get(name)
            if target is None or target.startswith("data:"):
                continue
            if target.startswith("#"):
                found += [] if target[1:] in ids else [f"a link to {target}, which is not there"]
            elif not (tag == "a" and re.fullmatch(r"(\.\./)?[\w./-]+\.(html(#[\w.-]+)?|svg)", target)):
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

# SPDX-License-Identifier: Apache-2.0
"""A published SVG as a part of a page: colours of the page, ids of its own, short numbers.

matplotlib writes these files; whatever else stood in one, the page's policy lets nothing run and nothing load.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as Xml

from markupsafe import Markup

from harness.errors import InputError

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
#: What is about the file: the page has its own style and title.
_ABOUT = tuple(f"{_SVG}{name}" for name in ("metadata", "style", "title", "desc"))
#: Figures as they were drawn -> what a page sets by its own colours, light or dark.
_COLOURS = {
    "#ffffff": "var(--paper)",
    "#000000": "var(--ink)",
    "#222222": "var(--ink)",
    "#ededed": "var(--grid)",
    "#e5e5e5": "var(--band)",
    "#dddddd": "var(--band)",
    "#f0f0f0": "var(--shade)",
    "#f7f7f7": "var(--shade)",
    "#fff4d6": "var(--phase)",
    "#b22222": "var(--bad)",
    "#0072b2": "var(--blue)",
}
_COLOUR = re.compile("|".join(_COLOURS), re.IGNORECASE)
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_TRANSLATE = re.compile(r"translate\([^)]*\)")
#: The families of a label's font: a page has its own.
_FAMILIES = re.compile(r"font-family:[^;]*;?")


def inline_svg(path: Path, *, prefix: str, title: str) -> Markup:
    """Return a figure's SVG for a page.

    Args:
        prefix: of every id, so that two figures of a page have none in common. title: what it shows, in words.

    Raises:
        InputError: it is not SVG.
    """
    try:
        root = Xml.fromstring(path.read_text("utf-8"))
    except (OSError, Xml.ParseError) as error:
        raise InputError(f"cannot be read as SVG ({error})", file=path) from None
    box = _short(root.get("viewBox", ""))
    points = box.split()[2:3]
    if root.tag != f"{_SVG}svg" or not points:
        raise InputError(
            "not an SVG with a size", file=path, found=root.tag, allowed="what matplotlib writes"
        )
    names: dict[str, str] = {}

    def named(own: str) -> str:
        return names.setdefault(own, f"{prefix}{len(names)}")

    def rewrite(element: Xml.Element) -> None:
        element.tag, element.tail = element.tag.removeprefix(_SVG), None
        element.text = (element.text or "").strip()
        attributes = {"href" if key == _LINK else key: value for key, value in element.attrib.items()}
        element.attrib.clear()
        for key, value in attributes.items():
            if key == "href" and value.startswith("#"):
                element.set(key, f"#{named(value[1:])}")
            elif key == "id" and element.tag != "g":  # nothing refers to a group
                element.set(key, named(value))
            elif key != "id" and not key.startswith("{"):
                element.set(key, _value(key, _REFERENCE.sub(lambda match: named(match[0]), value)))
        for child in list(element):
            if child.tag in _ABOUT:
                element.remove(child)
            else:
                rewrite(child)

    rewrite(root)
    root.attrib.clear()
    root.attrib.update({
        "viewBox": box, "style": f"--points:{points[0]}", "role": "img", "aria-label": title,
    })  # fmt: skip
    return Markup(Xml.tostring(root, encoding="unicode"))


def _value(key: str, value: str) -> str:
    value = _COLOUR.sub(lambda match: _COLOURS[match[0].lower()], value)
    if key in ("d", "points"):
        value = " ".join(value.split())
    elif key == "style":
        value = re.sub(r"\s*([:;])\s*", r"\1", _FAMILIES.sub("", value)).strip("; ")
    elif key == "transform":  # a scale has more digits than a place
        return _TRANSLATE.sub(lambda match: _short(match[0]), value)
    elif value.startswith("data:"):
        return "".join(value.split())
    return _short(value)


def _short(value: str) -> str:
    """Write numbers to a hundredth of a point."""
    return _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)

# SPDX-License-Identifier: Apache-2.0
"""A published SVG as a part of a page: only what draws, no links, colours of the page, ids of its own.

Libraries that sanitise HTML would keep the bytes as they are: half of them are digits and repeated styles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as Xml

from markupsafe import Markup, escape

from harness.errors import InputError

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
#: Elements that only draw; what is about the file is left out: the page has its own style and title.
_ELEMENTS = frozenset({
    "svg", "g", "path", "use", "rect", "circle", "ellipse", "line", "polyline", "polygon", "clipPath", "defs", "image",
    "text", "tspan", "pattern",
})  # fmt: skip
_ABOUT = frozenset(("metadata", "style", "title", "desc"))
_ATTRIBUTES = frozenset({
    "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox", "transform",
    "style", "points", "clip-path", "fill", "stroke", "opacity", "fill-opacity", "stroke-opacity", "stroke-width",
    "clip-rule", "fill-rule", "patternUnits", "patternTransform", "preserveAspectRatio",
})  # fmt: skip
#: Elements that others refer to.
_NAMED = frozenset(("path", "clipPath", "pattern", "image"))
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
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_TRANSLATE = re.compile(r"translate\([^)]*\)")
#: The families of a label's font: a page has its own.
_FAMILIES = re.compile(r"font-family:[^;]*;?")
_PICTURE = "data:image/png;base64,"


@dataclass
class _Figure:
    """A figure while it is written: id in the file -> id in the page, and the styles of shapes by their id."""

    path: Path
    prefix: str
    names: dict[str, str] = field(default_factory=dict)
    styles: dict[str, str] = field(default_factory=dict)

    def name(self, own: str) -> str:
        return self.names.setdefault(own, f"{self.prefix}{len(self.names)}")


def inline_svg(path: Path, *, prefix: str, title: str) -> Markup:
    """Return a figure's SVG for a page.

    Args:
        prefix: of every id, so that two figures of a page have none in common. title: what it shows, in words.

    Raises:
        InputError: it is not SVG, or has what cannot be drawn safely: entities, scripts, links to other files.
    """
    try:
        text = path.read_text("utf-8")
        if "<!ENTITY" in text:
            raise InputError("an SVG with entities", file=path, allowed="what matplotlib writes")
        root = Xml.fromstring(text)
    except (OSError, Xml.ParseError) as error:
        raise InputError(f"cannot be read as SVG ({error})", file=path) from None
    if root.tag != f"{_SVG}svg":
        raise InputError("not an SVG", file=path, found=root.tag, allowed="svg")
    figure = _Figure(path, prefix)
    box = [_short(part) for part in root.get("viewBox", "").split()]
    if len(box) != 4:
        raise InputError("an SVG without a size", file=path, place="viewBox", allowed="four numbers")
    head = Markup('<svg viewBox="{}" style="--points:{}" role="img" aria-label="{}">').format(
        " ".join(box), box[2], title
    )
    return head + Markup("".join(_element(child, figure) for child in root)) + Markup("</svg>")


def _element(element: Xml.Element, figure: _Figure) -> str:
    name = element.tag.removeprefix(_SVG)
    if name in _ABOUT:
        return ""
    if name not in _ELEMENTS:
        raise InputError(
            "an element that only draws is wanted", file=figure.path, found=name, allowed="paths and groups"
        )
    inside = str(escape((element.text or "").strip())) if name in ("text", "tspan") else ""
    inside += "".join(_element(child, figure) for child in element)
    if name in ("defs", "g") and not inside:
        return ""
    attributes = dict(_attributes(element, name, figure))
    if name == "path" and "id" in attributes:
        figure.styles[f"#{attributes['id']}"] = attributes.get("style", "")
    if name == "use" and figure.styles.get(attributes.get("href", "")) == attributes.get("style"):
        attributes.pop("style", None)  # the shape has it
    if name == "g" and not attributes:
        return inside
    return f"<{name}{_markup(attributes)}>{inside}</{name}>" if inside else f"<{name}{_markup(attributes)}/>"


def _markup(attributes: Mapping[str, str]) -> str:
    return "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())


def _attributes(element: Xml.Element, name: str, figure: _Figure) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        if key in (_LINK, "href"):
            yield "href", _link(value, name, figure)
        elif key == "id" and name in _NAMED:
            yield "id", figure.name(value)
        elif key in _ATTRIBUTES:
            yield key, _value(key, value, figure)


def _link(value: str, name: str, figure: _Figure) -> str:
    if name == "image" and value.startswith(_PICTURE):
        return re.sub(r"\s", "", value)
    if value.startswith("#"):
        return f"#{figure.name(value[1:])}"
    raise InputError("a figure that loads something", file=figure.path, found=value[:60], allowed="nothing")


def _value(key: str, value: str, figure: _Figure) -> str:
    if "url(" in value.replace(" ", "").lower() and not _REFERENCE.search(value):
        raise InputError(
            "a figure that loads something", file=figure.path, found=value[:60], allowed="nothing"
        )
    value = _REFERENCE.sub(lambda match: f"url(#{figure.name(match[1])})", value)
    value = _COLOUR.sub(lambda match: _COLOURS[match[0].lower()], value)
    if key in ("d", "points"):
        return _short(" ".join(value.split()))
    if key == "style":
        value = _FAMILIES.sub("", value)
        value = re.sub(r"\s*([:;])\s*", r"\1", value).strip("; ")
    if key == "transform":  # a scale has more digits than a place
        return _TRANSLATE.sub(lambda match: _short(match[0]), value)
    return _short(value)


def _short(value: str) -> str:
    """Write numbers to a hundredth of a point."""
    return _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)

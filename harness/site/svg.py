# SPDX-License-Identifier: Apache-2.0
"""A published SVG as a part of a page: only what draws, no links, colours of the page, ids of its own.

Labels, which were drawn sign by sign, become text that can be searched and takes a tenth of the room. Signs of formulas
stay outlines and are handed back apart: all figures of a page share them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from markupsafe import Markup, escape

from harness.errors import InputError

_USED = re.compile(r'href="#([^"]+)"')
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
#: Elements that only draw.
_ELEMENTS = frozenset({
    "svg", "g", "path", "use", "rect", "circle", "ellipse", "line", "polyline", "polygon", "clipPath", "defs", "image",
    "text", "tspan", "pattern",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "id", "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox", "transform",
    "style", "points", "clip-path", "fill", "stroke", "opacity", "fill-opacity", "stroke-opacity", "stroke-width",
    "clip-rule", "fill-rule", "patternUnits", "patternTransform", "preserveAspectRatio",
})  # fmt: skip
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
_GLYPH = re.compile(r"[A-Za-z]+[A-Za-z-]*-[0-9a-f]+")
_TRANSLATE = re.compile(r"translate\([^)]*\)")
#: The scale of a label: its signs are outlines of a font of 100 units, with y upwards.
_LABEL = re.compile(r" ?scale\(([\d.]+) -\1\)$")
_ADVANCE = re.compile(r"translate\(([\d.]+)(?: 0)?\)")
#: The font of every figure: its name before each glyph would be an eighth of the page.
_FONT = "DejaVuSans-"
_PICTURE = "data:image/png;base64,"


class Glyph(NamedTuple):
    """A sign of a font: its outline, and the transform that gives it its size."""

    outline: str
    transform: str


@dataclass(frozen=True)
class Drawing:
    """``markup``: the ``<svg>`` element. ``glyphs``: id -> glyph, of every one that it uses."""

    markup: Markup
    glyphs: Mapping[str, Glyph]


@dataclass
class _Figure:
    """A figure while it is written.

    ``names``: id in the file -> id in the page. ``styles``: of shapes by their id. ``comment``: the last one, which is
    the words of the label that follows.
    """

    path: Path
    prefix: str
    glyphs: dict[str, Glyph] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    styles: dict[str, str] = field(default_factory=dict)
    comment: str = ""

    def name(self, own: str) -> str:
        return self.names.setdefault(own, f"{self.prefix}{len(self.names)}")


def inline_svg(path: Path, *, prefix: str, title: str) -> Drawing:
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
        root = Xml.fromstring(text, Xml.XMLParser(target=Xml.TreeBuilder(insert_comments=True)))
    except (OSError, Xml.ParseError) as error:
        raise InputError(f"cannot be read as SVG ({error})", file=path) from None
    if root.tag != f"{_SVG}svg":
        raise InputError("not an SVG", file=path, found=root.tag, allowed="svg")
    figure = _Figure(path, prefix)
    drawn = "".join(_written(child, figure) for child in root)
    box = [_short(part) for part in root.get("viewBox", "").split()]
    if len(box) != 4:
        raise InputError("an SVG without a size", file=path, place="viewBox", allowed="four numbers")
    head = Markup('<svg viewBox="{}" style="--points:{}" role="img" aria-label="{}">').format(
        " ".join(box), box[2], title
    )
    used = set(_USED.findall(drawn))  # matplotlib defines a sign where it is used first, which may be a label
    glyphs = {name: glyph for name, glyph in figure.glyphs.items() if name in used}
    return Drawing(head + Markup(drawn) + Markup("</svg>"), glyphs)


def glyph_sheet(glyphs: Mapping[str, Glyph]) -> Markup:
    """Return the element that holds the glyphs of all figures; it takes no room."""
    paths = "".join(
        f'<path id="{escape(name)}" d="{escape(one.outline)}" transform="{escape(one.transform)}"/>'
        for name, one in sorted(glyphs.items())
    )
    return Markup(
        f'<svg class="glyphs" width="0" height="0" aria-hidden="true" focusable="false"><defs>{paths}</defs></svg>'
    )


def _written(element: Xml.Element, figure: _Figure) -> str:
    if not isinstance(element.tag, str):
        figure.comment = unescape((element.text or "")[1:-1])
        return ""
    name = element.tag.removeprefix(_SVG)
    if name in ("metadata", "style", "title", "desc"):
        return ""  # about the file; the page has its own style and title
    if name not in _ELEMENTS:
        raise InputError(
            "an element that only draws is wanted", file=figure.path, found=name, allowed="paths and groups"
        )
    if name == "path" and _GLYPH.fullmatch(own := element.get("id", "")):
        figure.glyphs[_glyph(own)] = Glyph(_joined(element.get("d", "")), element.get("transform", ""))
        return ""
    return (name == "g" and _label(element, figure)) or _element(element, name, figure)


def _element(element: Xml.Element, name: str, figure: _Figure) -> str:
    inside = "".join(_written(child, figure) for child in element)
    inside += str(escape((element.text or "").strip())) if name in ("text", "tspan") else ""
    if name in ("defs", "g") and not inside:
        return ""
    attributes = dict(_attributes(element, name, figure))
    if name == "path" and "id" in attributes:
        figure.styles[f"#{attributes['id']}"] = attributes.get("style", "")
    if name == "use" and figure.styles.get(attributes.get("href", "")) == attributes.get("style"):
        attributes.pop("style", None)  # the shape has it
    if name == "g" and not attributes:
        return inside
    return f"<{name}{_said(attributes)}>{inside}</{name}>" if inside else f"<{name}{_said(attributes)}/>"


def _said(attributes: Mapping[str, str]) -> str:
    return "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())


def _label(group: Xml.Element, figure: _Figure) -> str:
    """Return a group of one line of signs as text of the same length; empty: it is something else."""
    signs = [child for child in group if child.tag != f"{_SVG}defs"]
    scale = _LABEL.search(group.get("transform", ""))
    places = [_ADVANCE.fullmatch(sign.get("transform", "translate(0)")) for sign in signs]
    plain = all(_GLYPH.fullmatch(sign.get(_LINK, "").removeprefix("#")) for sign in signs) and all(places)
    text = figure.comment
    if not (scale and plain and 0 < len(signs) == len(text)):
        return ""
    for child in group:
        if child.tag == f"{_SVG}defs":
            _written(child, figure)  # other labels may use its signs
    attributes = dict(_attributes(group, "text", figure))
    attributes["transform"] = _LABEL.sub("", attributes["transform"])
    attributes["font-size"] = _short(str(100 * float(scale[1])))
    last = float(places[-1][1]) if places[-1] else 0.0
    if last:  # the last sign is taken to be as wide as the others are on average
        attributes["textLength"] = _short(f"{float(scale[1]) * last * len(text) / (len(text) - 1):.3f}")
        attributes["lengthAdjust"] = "spacingAndGlyphs"
    return f"<text{_said(attributes)}>{escape(text)}</text>"


def _attributes(element: Xml.Element, name: str, figure: _Figure) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        if key in (_LINK, "href"):
            yield "href", _link(value, name, figure)
        elif key == "id":
            if name in ("path", "clipPath", "pattern", "image"):  # groups are not referred to
                yield "id", figure.name(value)
        elif key in _ATTRIBUTES:
            yield key, _value(key, value, figure)


def _link(value: str, name: str, figure: _Figure) -> str:
    if name == "image" and value.startswith(_PICTURE):
        return re.sub(r"\s", "", value)
    if value.startswith("#"):
        own = value[1:]
        return f"#{_glyph(own)}" if _GLYPH.fullmatch(own) else f"#{figure.name(own)}"
    raise InputError("a figure that loads something", file=figure.path, found=value[:60], allowed="nothing")


def _glyph(name: str) -> str:
    return f"g{name.removeprefix(_FONT)}" if name.startswith(_FONT) else name


def _value(key: str, value: str, figure: _Figure) -> str:
    if "url(" in value.replace(" ", "").lower() and not _REFERENCE.search(value):
        raise InputError(
            "a figure that loads something", file=figure.path, found=value[:60], allowed="nothing"
        )
    value = _REFERENCE.sub(lambda found: f"url(#{figure.name(found[1])})", value)
    value = _COLOUR.sub(lambda found: _COLOURS[found[0].lower()], value)
    if key in ("d", "points"):
        return _joined(value)
    if key == "style":
        value = re.sub(r"\s*([:;])\s*", r"\1", value).strip("; ")
    if key == "transform":  # a scale has more digits than a place
        return _TRANSLATE.sub(lambda found: _short(found[0]), value)
    return _short(value)


def _joined(outline: str) -> str:
    """A path in one line, to a hundredth of a point."""
    return _short(" ".join(outline.split()))


def _short(value: str) -> str:
    return _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)

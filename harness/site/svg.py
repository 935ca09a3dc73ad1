# SPDX-License-Identifier: Apache-2.0
"""A published SVG as a part of a page: only what draws, no links, colours of the page, ids of its own.

The fonts' glyphs are handed back apart: all figures of a page share them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from markupsafe import Markup, escape

from harness.errors import InputError

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
        root = Xml.fromstring(text)
    except (OSError, Xml.ParseError) as error:
        raise InputError(f"cannot be read as SVG ({error})", file=path) from None
    if root.tag != f"{_SVG}svg":
        raise InputError("not an SVG", file=path, found=root.tag, allowed="svg")
    glyphs: dict[str, Glyph] = {}
    drawn = "".join(_written(child, path, prefix, glyphs) for child in root)
    box = [_short(part) for part in root.get("viewBox", "").split()]
    if len(box) != 4:
        raise InputError("an SVG without a size", file=path, place="viewBox", allowed="four numbers")
    head = Markup('<svg viewBox="{}" style="--points:{}" role="img" aria-label="{}">').format(
        " ".join(box), box[2], title
    )
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


def _written(element: Xml.Element, path: Path, prefix: str, glyphs: dict[str, Glyph]) -> str:
    if not isinstance(element.tag, str):
        return ""  # a comment
    name = element.tag.removeprefix(_SVG)
    if name in ("metadata", "style", "title", "desc"):
        return ""  # about the file; the page has its own style and title
    if name not in _ELEMENTS:
        raise InputError(
            "an element that only draws is wanted", file=path, found=name, allowed="paths and groups"
        )
    if name == "path" and _GLYPH.fullmatch(own := element.get("id", "")):
        glyphs[_glyph(own)] = Glyph(_joined(element.get("d", "")), element.get("transform", ""))
        return ""
    inside = "".join(_written(child, path, prefix, glyphs) for child in element)
    inside += str(escape((element.text or "").strip())) if name in ("text", "tspan") else ""
    if name in ("defs", "g") and not inside:
        return ""
    attributes = dict(_attributes(element, name, path, prefix, glyphs))
    if name == "g" and not attributes:
        return inside
    said = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{said}>{inside}</{name}>" if inside else f"<{name}{said}/>"


def _attributes(
    element: Xml.Element, name: str, path: Path, prefix: str, glyphs: Mapping[str, Glyph]
) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        if key in (_LINK, "href"):
            yield "href", _link(value, name, path, prefix)
        elif key == "id":
            if name in ("path", "clipPath", "pattern", "image"):  # groups are not referred to
                yield "id", prefix + value
        elif key in _ATTRIBUTES:
            yield key, _value(key, value, prefix, path)


def _link(value: str, name: str, path: Path, prefix: str) -> str:
    if name == "image" and value.startswith(_PICTURE):
        return re.sub(r"\s", "", value)
    if value.startswith("#"):
        own = value[1:]
        return f"#{_glyph(own)}" if _GLYPH.fullmatch(own) else f"#{prefix}{own}"
    raise InputError("a figure that loads something", file=path, found=value[:60], allowed="nothing")


def _glyph(name: str) -> str:
    return f"g{name.removeprefix(_FONT)}" if name.startswith(_FONT) else name


def _value(key: str, value: str, prefix: str, path: Path) -> str:
    if "url(" in value.replace(" ", "").lower() and not _REFERENCE.search(value):
        raise InputError("a figure that loads something", file=path, found=value[:60], allowed="nothing")
    value = _REFERENCE.sub(lambda found: f"url(#{prefix}{found[1]})", value)
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

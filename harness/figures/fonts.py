# SPDX-License-Identifier: Apache-2.0
"""The font of figures: DejaVu Sans without its instructions for coarse screens, and without ligatures.

A PDF has the glyphs of each figure that it includes, and with them whatever belongs to the font as a whole: the
instructions that fit outlines to pixels, and rules for scripts and ligatures that no label needs. These are more than
half of what a figure takes for its font, and the paper has some fifty figures.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
from matplotlib import font_manager

#: The family that figures are drawn in, and the one whose outlines it has.
FAMILY = "DejaVu Sans unhinted"
_ORIGIN = "DejaVu Sans"
#: Entries of a font's table of names that say its family.
_FAMILY_NAMES = (1, 4, 16)
_LAYOUT_KEPT = ["kern", "mark", "mkmk", "ccmp"]


@cache
def families() -> list[str]:
    """Return the families to draw text in, the first one first; register it if this process has not yet.

    It is made once and kept in matplotlib's cache. Glyphs and widths are the original's, so that a figure is laid
    out alike where the font cannot be made, and the original takes its place.
    """
    try:
        font_manager.fontManager.addfont(_unhinted())
    except OSError:
        return [_ORIGIN]
    return [FAMILY, _ORIGIN]


def _unhinted() -> Path:
    """Return the font file, made unless it is there."""
    source = Path(font_manager.findfont(_ORIGIN, fallback_to_default=False))
    made_of = f"{hashlib.sha256(source.read_bytes()).hexdigest()} {version('fonttools')} {_LAYOUT_KEPT}"
    path = Path(mpl.get_cachedir()) / f"unhinted-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.ttf"
    if not path.is_file():
        _make(source, path)
    return path


def _make(source: Path, path: Path) -> None:
    from fontTools import subset

    options = subset.Options(
        hinting=False, layout_features=_LAYOUT_KEPT, glyph_names=True, notdef_outline=True, name_IDs=["*"],
        recalc_timestamp=False,
    )  # fmt: skip
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=font.getBestCmap())
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in _FAMILY_NAMES:
            record.string = FAMILY
    handle, fresh = tempfile.mkstemp(prefix=path.stem, suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            font.save(stream)
        Path(fresh).replace(path)  # whole or not at all: several processes may make it at once
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise

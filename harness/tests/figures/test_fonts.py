# SPDX-License-Identifier: Apache-2.0
"""Figures have one font, whose outlines and widths are those of DejaVu Sans without its instructions."""

from __future__ import annotations

from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from matplotlib import font_manager

from harness.figures import fonts, style
from harness.rows import page


def font_of(family: str) -> TTFont:
    return TTFont(font_manager.findfont(family, fallback_to_default=False))


def test_the_font_of_figures_has_the_glyphs_and_widths_of_the_original_and_no_instructions() -> None:
    ours, original = (font_of(family) for family in fonts.families())
    assert not {"fpgm", "prep", "cvt "} & set(ours.keys())
    characters, theirs = ours.getBestCmap(), original.getBestCmap()
    assert characters == theirs
    assert all(ours["hmtx"][name][0] == original["hmtx"][name][0] for name in characters.values())


def test_a_stamped_figure_has_one_font_in_its_pdf(tmp_path: Path) -> None:
    figure, _ = page()
    style.stamp(figure, "draft measurement: profile quick")
    pdf, *_ = style.save(figure, tmp_path / "figure")
    assert pdf.read_bytes().count(b"/FontFile2") == 1


def test_where_no_font_can_be_made_the_original_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> Path:
        raise OSError("no space left on device")

    monkeypatch.setattr(fonts, "_unhinted", refused)
    assert fonts.families.__wrapped__() == ["DejaVu Sans"]

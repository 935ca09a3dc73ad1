# SPDX-License-Identifier: Apache-2.0
"""One style for all figures: looks, sizes, scales, labels, the draft stamp, and byte-stable files.

Hue is the language, the marker the implementation.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from harness.analysis.stats.ages import young_arms
from harness.model.age import YOUNG
from harness.model.digits import fixed, plain
from harness.model.formatting import NOT_MEASURED, capital, listed

#: Okabe and Ito (2008). Go and Java differ in lightness too, so they stay apart in grey.
COLOURS = {"go": "#0072B2", "java": "#E69F00"}
OTHER_COLOUR = "#CC79A7"

#: Implementation -> marker; one not listed here takes a spare, always the same one.
_MARKERS = {
    "go-kit": "o",
    "go-kit-2020": "o",
    "go-nethttp": "^",
    "java-helidon": "s",
    "java-helidon2-published": "X",
    "java-jaxrs": "D",
    "java-jaxrs-2020": "D",
    "java-jaxrs-published": "D",
    "java-jdkhttp": "v",
    "go-gorilla": "o",
    "go-pgx": "P",
    "java-spring": "s",
    "java-quarkus": "s",
    "java-vertx": "X",
}
_SPARE = ("P", "X", "<", ">", "p")
INK, FAINT, BAND = "#222222", "#999999", "#E5E5E5"
COLUMN_INCHES, PAGE_INCHES = 3.5, 7.16  # IEEE column and page
#: Points of every text. The paper prints figures a hundredth smaller than they are drawn (``rematch.sty``), so 8 pt.
TEXT_POINTS = 8.1
#: The height of a line of text with its leading.
LINE_INCHES = 1.2 * TEXT_POINTS / 72
_STAMP = "rematch-stamp"
_SIZES = (
    "font.size axes.titlesize axes.labelsize xtick.labelsize ytick.labelsize legend.fontsize figure.labelsize"
)
_RC = {
    **dict.fromkeys(_SIZES.split(), TEXT_POINTS),
    "font.family": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#EDEDED",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.6,
    "pdf.fonttype": 42,
    "pdf.compression": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "rematch",
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "path.simplify": True,
}


def settings() -> dict[Any, Any]:
    """Return the parameters of matplotlib that all figures are drawn with."""
    return dict(mpl.rcParamsDefault) | _RC | {"backend": mpl.rcParams["backend"]}


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = COLUMN_INCHES, height: float = 2.4, **kwargs: Any
) -> tuple[Figure, np.ndarray[Any, Any]]:
    """Return a figure and its axes, shape (rows, columns); no global figure list holds on to it."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def describe(trials: pd.DataFrame | None) -> str:
    """Return what a caption owes its reader: blocks, trials, what was left out, how long was measured, how the programs
    are written, and who was young. ``None``: that nothing was measured."""
    if trials is None:
        return NOT_MEASURED
    counted = trials[~trials["excluded"].astype(bool)]
    blocks = counted.drop_duplicates(["session_id", "block"]).shape[0]
    parts = [
        f"{n} {what if n == 1 else what + 's'}" for n, what in ((blocks, "block"), (len(counted), "trial"))
    ]
    again = int(counted["duplicate"].astype(bool).sum()) if "duplicate" in counted else 0
    if again:
        parts[-1] += f" ({again} of them the reference a second time)"
    if len(counted) < len(trials):
        parts.append(f"{len(trials) - len(counted)} excluded and counted")
    seconds = counted["measurement_s"].dropna() if "measurement_s" in counted else pd.Series(dtype=float)
    if len(seconds):
        ends = dict.fromkeys(plain(float(end)) for end in (seconds.min(), seconds.max()))
        parts.append(f"measured for {' to '.join(ends)} s each")
    young = [
        label if n == of else f"{label} (in {n} of {of} cells)"
        for label, (n, of) in young_arms(trials).items()
    ]
    words = "; ".join(filter(None, (", ".join(parts), _coding_words(counted))))
    return f"{words}.{f' {capital(YOUNG)} processes: {listed(young)}.' if young else ''}"


def _coding_words(trials: pd.DataFrame) -> str:
    """Return ``coding: tuned``, and which programs are written otherwise; empty: their workload has no codings."""
    if "coding" not in trials or trials["coding"].isna().all():
        return ""
    codings = {
        str(label): " and ".join(dict.fromkeys(map(str, labelled)))
        for label, labelled in trials.dropna(subset=["coding"]).groupby("label", sort=False)["coding"]
    }
    labels: dict[str, list[str]] = {}
    for label, coding in codings.items():
        labels.setdefault(coding, []).append(label)
    rule, *rest = sorted(labels, key=lambda coding: -len(labels[coding]))
    exceptions = "; ".join(f"{', '.join(labels[coding])}: {coding}" for coding in rest)
    return f"coding: {rule}" + (f" ({exceptions})" if exceptions else "")


@dataclass(frozen=True, kw_only=True)
class VariantStyle:
    """How one variant is drawn."""

    label: str
    colour: str
    marker: str
    face: str

    @property
    def dots(self) -> dict[str, Any]:
        """Keywords of a scatter of trials."""
        return {
            "marker": self.marker,
            "linestyle": "none",
            "markerfacecolor": self.face,
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.9,
            "alpha": 0.85,
        }


def variant_styles(trials: pd.DataFrame) -> dict[str, VariantStyle]:
    """Return variant -> look. The implementation decides the marker; a variant of it that is not
    the plain one (its name differs from the implementation's) is hollow."""
    rows = trials.drop_duplicates("variant").sort_values("variant")
    return {str(row["variant"]): _look(row) for _, row in rows.iterrows()}


def _look(row: pd.Series) -> VariantStyle:
    implementation, variant = str(row["implementation"]), str(row["variant"])
    spare = _SPARE[zlib.crc32(implementation.encode()) % len(_SPARE)]
    colour = COLOURS.get(str(row["language"]).lower(), OTHER_COLOUR)
    label = row.get("label")
    return VariantStyle(
        label=variant if label is None or pd.isna(label) else str(label),
        colour=colour,
        marker=_MARKERS.get(implementation, spare),
        face=colour if variant == implementation else "white",
    )


#: What may be written of each decade, from the most to the least; and for each ratio of its ends up to which an axis
#: begins with one of these.
_DECADES: tuple[tuple[float, ...], ...] = (
    tuple(range(1, 10)), (1, 2, 3, 4, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,),
)  # fmt: skip
_FIRST = ((3.0, 0), (8.0, 1), (200.0, 3))
#: Below this ratio of its ends an axis has the ticks of a linear one; with room for so many numbers it has them all.
_NO_DECADE, _ROOMY = 3, 6
#: With one number an axis has no scale; then it has the first and the last of these.
_LEAST_TICKS = 2
_OFTEN = (1.0, 2.0, 5.0)


def log_scale(axes: Axes, *names: Literal["x", "y"]) -> None:
    """Give axes a log scale with plain numbers, as many of each decade as have room: 1, 2 and 5 as a rule."""
    for name in names:
        axes.set_xscale("log") if name == "x" else axes.set_yscale("log")
        axis = axes.xaxis if name == "x" else axes.yaxis
        low, high = axis.get_view_interval()
        ratio = high / max(low, 1e-12)
        room = _room(axes, high) if name == "x" else np.inf
        steps = _steps(ratio, room)
        axis.set_major_locator(LogLocator(subs=steps))
        if ratio < _NO_DECADE and room < _ROOMY:
            ticks = MaxNLocator(max(2, int(room)), steps=[1, 2, 5, 10]).tick_values(low, high)
            axis.set_major_locator(FixedLocator(ticks))
        elif name == "x" and len(_in_view(steps, low, high)) < _LEAST_TICKS:
            widest = _in_view(_OFTEN, low, high)
            axis.set_major_locator(FixedLocator([*widest[:1], *widest[1:][-1:]]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        axis.set_minor_formatter(NullFormatter())


def _room(axes: Axes, high: float) -> float:
    """How many numbers of a horizontal axis have room beside each other: its width, of which labels and legends take
    some later, over that of the longest number with a gap to the next."""
    inches = 0.6 * axes.bbox.width / axes.figure.dpi
    return float(inches / ((len(plain(high)) + 1.5) * 0.62 * TEXT_POINTS / 72))


def _steps(ratio: float, room: float) -> tuple[float, ...]:
    """What is written of each decade: the most of which nothing is written over its neighbour."""
    first = next((place for below, place in _FIRST if ratio < below), len(_DECADES) - 1)
    per_decade = room / max(float(np.log10(max(ratio, 1.0))), 1e-9)
    apart = ((steps, float(np.diff(np.log10([*steps, 10.0])).min())) for steps in _DECADES[first:])
    return next((steps for steps, distance in apart if per_decade * distance >= 1), (1,))


def _in_view(steps: Sequence[float], low: float, high: float) -> list[float]:
    decades = range(int(np.floor(np.log10(max(low, 1e-12)))), int(np.floor(np.log10(max(high, 1e-12)))) + 1)
    return [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]


def short(value: float) -> str:
    """A tick in few characters: ``1,000``, ``10 k``, ``1 M``."""
    for least, size, name in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least:
            return f"{value / size:g} {name}"
    return fixed(value, 0) if value >= 1000 else f"{value:g}"


def stamp(figure: Figure, words: str) -> None:
    """Mark a figure as a draft; a second call changes the words and adds nothing."""
    for text in figure.texts:
        if text.get_gid() == _STAMP:
            text.set_text(words)
            return
    engine = figure.get_layout_engine()
    if engine is not None:  # room for the stamp above the panels
        engine.set(rect=(0, 0, 1, 1 - LINE_INCHES / figure.get_figheight()))  # type: ignore[call-arg]  # of constrained layout
    with mpl.rc_context(settings()):  # in the font of the figure
        figure.text(
            0.995, 0.995, words, ha="right", va="top", fontsize=TEXT_POINTS, color="#B22222", gid=_STAMP
        )


def save(figure: Figure, stem: Path) -> tuple[Path, Path, Path]:
    """Write ``stem``.pdf, .svg and .png, laid out for the PDF; the same figure gives the same bytes. Returns the
    paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = tuple(stem.with_name(f"{stem.name}.{ending}") for ending in ("pdf", "svg", "png"))
    without_date: Iterable[dict[str, Any]] = (
        {"CreationDate": None, "Producer": None, "Creator": None},
        {"Date": None, "Creator": None},
        {"Software": None},
    )
    engine = figure.get_layout_engine()
    with mpl.rc_context(settings()):  # parts of a figure are made only when it is drawn
        for path, metadata in zip(paths, without_date, strict=True):
            figure.savefig(path, metadata=metadata)
            figure.set_layout_engine(None)
        figure.set_layout_engine(engine)
    return paths[0], paths[1], paths[2]


def png_of(figure: Figure) -> bytes:
    """Return a figure as PNG, the bytes that :func:`save` writes."""
    stream = io.BytesIO()
    with mpl.rc_context(settings()):
        figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def texts_of(figure: Figure) -> list[str]:
    """Return what is written in a figure that has been drawn, each text in one line."""
    return [" ".join(text.get_text().split()) for text in figure.findobj(Text) if isinstance(text, Text)]


def show_figures_in(shell: Any) -> None:
    """Make a notebook (``shell``: IPython's) show a figure that a cell ends with, in place of the figure's type."""
    shell.display_formatter.formatters["image/png"].for_type(Figure, png_of)

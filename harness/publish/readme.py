# SPDX-License-Identifier: Apache-2.0
"""The README's headline: one figure and one table, written from the published numbers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownKey
from harness.publish.generated import read_values

BEGIN = "<!-- headline: written by `python -m harness paper --readme` -->"
END = "<!-- /headline -->"
FIGURE = "strings.throughput.forest"
PICTURE = Path("docs") / "headline.png"
_ROWS = {
    "go_kit": "Go kit, as published",
    "java_helidon": "Java, Helidon SE",
    "java_jaxrs": "Java, JAX-RS on Jersey",
    "java_jdkhttp": "Java, the JDK's server",
}
REFERENCE = "go_nethttp"
#: head of a column, with the better direction -> (ratio to the reference, value of the reference)
_COLUMNS = {
    "throughput ↑": ("strings.throughput.ratio", "strings.throughput.rate"),
    "CPU per request ↓": ("strings.cpu.ratio", "strings.cpu.mean"),
    "time to first answer ↓": ("startup.first.ratio", "startup.first"),
    "memory after the load ↓": ("memory.ratio", "memory.after"),
}
VERDICT = "strings.throughput.verdict"


def write_headline(root: Path) -> Path:
    """Write the block between the README's markers and the picture it shows; return the README's path.

    Raises:
        UnknownKey: a number or the figure was not published; run the notebooks first.
        InputError: the README has no markers.
    """
    values = read_values(root)
    readme = root / "README.md"
    text = readme.read_text("utf-8")
    block = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not block.search(text):
        raise InputError("the headline's markers are missing", file=readme, allowed=f"{BEGIN} ... {END}")
    figure = _figure(root)
    shutil.copyfile(root / "paper" / "generated" / _png(figure), root / PICTURE)
    readme.write_text(block.sub(lambda _: f"{BEGIN}\n{_block(values, figure)}\n{END}", text), "utf-8")
    return readme


def _block(values: dict[str, dict[str, Any]], figure: dict[str, Any]) -> str:
    cores, memory = _text(values, "machine.cores"), _text(values, "machine.memory")
    lines = [
        f"![{figure['alt']}]({PICTURE.as_posix()})",
        "",
        f"*{figure['caption']}*",
        "",
        f"Trials with {_text(values, 'headline.cell')}. {_text(values, 'headline.load')}",
        _text(values, "headline.generator"),
        _text(values, "headline.warm_up"),
        "",
        f"First row: Go's `net/http`, the reference, in absolute values. Below: ratios to it, with 95 % intervals over "
        f"{_text(values, 'strings_rounds.blocks')} blocks of fresh processes. "
        "↑: higher is better; ↓: lower is better.",
        "",
        "| | " + " | ".join(_COLUMNS) + " | throughput is |",
        "|---|" + "--:|" * len(_COLUMNS) + "---|",
    ]
    absolute = (_text(values, f"{value}.{REFERENCE}", interval=True) for _, value in _COLUMNS.values())
    lines.append("| Go, `net/http` | " + " | ".join(absolute) + " | the reference |")
    for variant, name in _ROWS.items():
        cells = (_text(values, f"{ratio}.{variant}", interval=True) for ratio, _ in _COLUMNS.values())
        lines.append(
            f"| {name} | " + " | ".join(cells) + f" | {_text(values, f'{VERDICT}.{variant}')} Go's |"
        )
    lines += [
        "",
        f"**{_text(values, 'status')}**: {cores} cores, {memory}, {_text(values, 'tool.jdk')}, "
        f"{_text(values, 'tool.go')}, measured on {_text(values, 'strings_rounds.day')}.",
        f"The reference, run twice in each block ({_text(values, 'strings.throughput.noise_cell')}), has a ratio of "
        f"{_text(values, 'strings.throughput.aa', interval=True)} to itself in throughput. "
        f"Margin of equivalence: {_text(values, 'strings.throughput.margin')}.",
    ]
    return "\n".join(lines)


def _text(values: dict[str, dict[str, Any]], key: str, *, interval: bool = False) -> str:
    if key not in values:
        raise UnknownKey(f"{key} was not published; execute the notebooks first: make paper")
    return str(values[key]["interval_text" if interval else "text"])


def _figure(root: Path) -> dict[str, Any]:
    path = root / "paper" / "generated" / "figures.json"
    figures = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if FIGURE not in figures:
        raise UnknownKey(f"the figure {FIGURE} was not published; execute the notebooks first: make paper")
    found: dict[str, Any] = figures[FIGURE]
    return found


def _png(figure: dict[str, Any]) -> str:
    return next(str(file) for file in figure["files"] if str(file).endswith(".png"))

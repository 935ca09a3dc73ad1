# SPDX-License-Identifier: Apache-2.0
"""The page of an adopted service: its capacity, with what bounded it, and what it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from harness.adopt.adopting import Seen
from harness.adopt.capacity import Capacity
from harness.report.html import page_style


def render_page(capacity: Capacity, lines: Mapping[str, str], seen: Seen) -> str:
    """Return the page; nothing in it is loaded from anywhere."""
    said = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines.items())
    rows = "".join(
        "<tr>" + "".join(f'<td class="text">{escape(cell)}</td>' for cell in cells) + "</tr>"
        for cells in _rows(seen)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Capacity of {escape(capacity.name)}</title>
<style>
{page_style()}</style></head><body>
<h1>{escape(capacity.headline)}</h1>
<dl>{said}</dl>
<div class="scroll"><table><caption>Requests</caption>
<tr><th>request</th><th class="text">status</th><th class="text">part of the load</th>
<th class="text">compared</th></tr>
{rows}</table></div>
</body></html>
"""


def _rows(seen: Seen) -> list[tuple[str, ...]]:
    return [
        (
            f"{one.asked.method} {one.asked.path}",
            str(one.status),
            "yes" if one.repeatable else one.note or "no",
            " without ".join(filter(None, (one.compared, ", ".join(one.volatile)))),
        )
        for one in seen.recording.recorded
    ]

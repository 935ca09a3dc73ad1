# SPDX-License-Identifier: Apache-2.0
"""Executed notebooks as pages beside the results page: no script, nothing loaded."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from harness.errors import InputError
from harness.report.html import page_style

_TEMPLATES = Path(__file__).with_name("templates")
#: What would load something, or run; the pages' policy forbids it too.
_ACTIVE = re.compile(
    r"<(script|iframe|object|embed|link|base|form)\b.*?(</\1\s*>|$)|<(script|iframe|object|embed|link|base|form)\b[^>]*>",
    re.IGNORECASE | re.DOTALL,
)
_HANDLER = re.compile(r"(<[^>]*?)\son\w+\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
_ANCHOR = re.compile(r'<a class="anchor-link"[^>]*>.*?</a>', re.DOTALL)


def notebook_page(executed: Path, title: str) -> str:
    """Return an executed notebook as one page.

    Raises:
        InputError: it cannot be read.
    """
    from nbconvert import HTMLExporter
    from nbformat.reader import NotJSONError

    try:
        exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True)  # type: ignore[no-untyped-call]  # nbconvert has no types here
        body, _ = exporter.from_filename(str(executed))
    except (OSError, NotJSONError, KeyError, ValueError) as error:
        raise InputError(f"cannot be read as a notebook ({error})", file=executed) from None
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        (_TEMPLATES / "notebook.html.jinja").read_text(encoding="utf-8")
    )
    return page.render(style=page_style(), title=title, body=Markup(_passive(body)))


def _passive(body: str) -> str:
    """The page's body without what runs or loads; our notebooks have none of it."""
    body = _ACTIVE.sub("", _ANCHOR.sub("", body))
    while (once := _HANDLER.sub(r"\1", body)) != body:
        body = once
    return body

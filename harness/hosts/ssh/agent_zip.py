# SPDX-License-Identifier: Apache-2.0
"""The agent as one file: a zip that Python starts, made of the very modules this machine's host is made of."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path

_HARNESS = Path(__file__).resolve().parents[2]
_MAIN = """import sys
if sys.argv[1:2] == ["attach"]:
    from harness.agent.relay import relay
    relay(sys.argv[2])
else:
    from harness.agent.__main__ import main
    main()
"""
#: The same modules give the same bytes, and so the same name, on every day.
_DATE = (1980, 1, 1, 0, 0, 0)


@cache
def agent_file() -> bytes:
    """Return the file's content."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        files = [_HARNESS / "errors.py", *(_HARNESS / "agent").glob("*.py")]
        texts = {
            f"harness/{path.relative_to(_HARNESS).as_posix()}": path.read_text("utf-8") for path in files
        }
        texts["harness/__init__.py"] = ""  # here it imports what needs an installation
        texts["__main__.py"] = _MAIN
        for name, text in sorted(texts.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def agent_name() -> str:
    """Return the file's name over there: its content's hash is part of it."""
    return f"agent-{hashlib.sha256(agent_file()).hexdigest()[:16]}.pyz"

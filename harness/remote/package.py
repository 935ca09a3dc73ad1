# SPDX-License-Identifier: Apache-2.0
"""The agent as one file: a zip that Python starts, made of the very modules this machine's host is made of."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path

_HARNESS = Path(__file__).resolve().parent.parent
_MODULES = (
    "agent/__init__.py",
    "agent/__main__.py",
    "agent/containers.py",
    "agent/files.py",
    "agent/orders.py",
    "agent/relay.py",
    "agent/server.py",
    "contents.py",
    "engine.py",
    "errors.py",
    "exchange.py",
    "first_answer.py",
    "formats/cpu_stat.py",
    "machine_facts.py",
    "platforms.py",
    "ports.py",
    "processes.py",
    "sampling/cgroup.py",
    "sampling/counting.py",
    "sampling/glancer.py",
    "sampling/group.py",
    "sampling/group_files.py",
    "sampling/held.py",
    "sampling/machine.py",
    "sampling/process.py",
    "sampling/sampler.py",
    "spawn_stub.py",
    "spawning.py",
)
#: Here they import what needs an installation; over there nothing of that is wanted.
_EMPTY = ("__init__.py", "formats/__init__.py", "sampling/__init__.py")
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
        texts = {f"harness/{name}": (_HARNESS / name).read_text("utf-8") for name in _MODULES}
        texts |= {f"harness/{name}": "" for name in _EMPTY}
        texts["__main__.py"] = _MAIN
        for name, text in sorted(texts.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), text, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def agent_name() -> str:
    """Return the file's name over there: its content's hash is part of it."""
    return f"agent-{hashlib.sha256(agent_file()).hexdigest()[:16]}.pyz"

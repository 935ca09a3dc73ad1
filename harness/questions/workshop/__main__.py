# SPDX-License-Identifier: Apache-2.0
"""``python -m harness.questions.workshop``: read the sessions of the workshop once, and print this computer's code."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from harness.agent.files import file_sha256
from harness.analysis.evidence.opening import open_evidence
from harness.analysis.evidence.parameters import StageParameters
from harness.errors import RematchError
from harness.project import find_root
from harness.store import archive_of

#: The teacher's notebooks, which people edit; ``make workshop-notebooks`` makes the students' of them.
TEACHER = Path("docs") / "workshop"


def workshop_code(root: Path) -> str:
    """Return the code of this computer, such as ``3F9-A02``; tables that are missing are derived, which takes a while.

    Two computers with one code have the same notebooks and the same sessions.
    """
    digest, names = hashlib.sha256(), set[str]()
    for path in sorted((root / TEACHER).glob("[0-9]*.ipynb")):
        text = path.read_text("utf-8")
        digest.update(text.encode())
        for experiments in re.findall(r'"experiments = \\"(.+?)\\"', text):
            names.update(experiments.split(","))
    for name in sorted(names):
        evidence = open_evidence(StageParameters(profile="sample", experiments=name), name, root=root)
        for session in evidence.sessions:
            digest.update(file_sha256(archive_of(session.folder)).encode())
    code = digest.hexdigest()[:6].upper()
    return f"{code[:3]}-{code[3:]}"


def main() -> int:
    """Print the code of this computer and return the exit status."""
    print("Reading the sessions; the first time takes about a minute.", flush=True)
    try:
        print(f"ready for the workshop: code {workshop_code(find_root())}")
    except RematchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

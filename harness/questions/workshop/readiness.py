# SPDX-License-Identifier: Apache-2.0
"""Is this computer ready for the workshop? The answer ends in a short code, the same on every computer that is.

The code is made of the checksums of the sessions, the notebooks, and numbers computed from the sessions here: two
computers that print the same one will show the same tables.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.parameters import StageParameters
from harness.questions.workshop.pages import files_of, outdated, stale_words
from harness.questions.workshop.source import FOLDER, read_units
from harness.store import Archive, archive_of

#: What every session tells; of each the sum over its trials goes into the code.
_NUMBERS = ("throughput_per_s", "latency_mean_s", "cpu_s_per_request")
_DIGITS = 6


def workshop_code(root: Path) -> str:
    """Return the code of this computer, such as ``3F9-A02``. Tables that are missing are derived, which takes a while.

    Raises:
        InputError: a session is missing or damaged, a notebook is not what its source says, or JupyterLab is missing.
    """
    if find_spec("jupyterlab") is None:
        raise InputError(
            "is not installed", place="JupyterLab", found=sys.executable, allowed="make workshop-check"
        )
    stale = outdated(root)
    if stale:
        raise InputError(
            "not what the sources say: run make workshop-notebooks, or fetch them again",
            place=str(FOLDER),
            found=stale_words(stale, files_of(root)),
        )
    digest = hashlib.sha256()
    for part in _parts(root):
        digest.update(part.encode() + b"\n")
    code = digest.hexdigest()[:6].upper()
    return f"{code[:3]}-{code[3:]}"


def _parts(root: Path) -> Iterator[str]:
    for path, text in sorted(files_of(root).items()):
        if path.suffix == ".ipynb":
            yield f"{path.as_posix()} {hashlib.sha256(text.encode()).hexdigest()}"
    names = {name for unit in read_units(root) for name in unit.head.experiments}
    for name in sorted(names):
        with redirect_stdout(io.StringIO()):
            evidence = open_evidence(StageParameters(profile="sample", experiments=name), name, root=root)
        yield from _session_parts(evidence)


def _session_parts(evidence: Evidence) -> Iterator[str]:
    for session in evidence.sessions:
        yield f"{session.key} {Archive(archive_of(session.folder)).sha256}"
    for column in _NUMBERS:
        total = np.format_float_scientific(float(evidence.trials[column].sum()), precision=_DIGITS - 1)
        yield f"{evidence.experiment} {column} {total}"

# SPDX-License-Identifier: Apache-2.0
"""What a reader must know of a program beside its name: who built it, and how it is written.

Both decide a number as much as the language does, so tables, figures and captions say them from here.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.backing import SettingValue
from harness.model.session import BuildRecord
from harness.model.study import Variant

#: After the label of a native image that no release of a compiler made.
UNOFFICIAL = "(unofficial build)"
#: What a caption says where such a label stands.
UNOFFICIAL_NOTE = (
    "Unofficial build: a native image by our own build of the SubstrateVM compiler, not by GraalVM CE."
)
#: workload -> how its matched programs are written where nothing else is asked for.
DEFAULT_CODING: Mapping[str, str] = {"strings": "tuned", "bank": "idiomatic", "clients": "idiomatic"}
#: Names of settings, and the face that has a coding.
_FACE, _CRAFT, _MATCHED = "face", "craft", "matched"


def label_of(name: str, variant: Variant, builds: Mapping[str, BuildRecord]) -> str:
    """Return what tables and figures call a variant: its label, else its name, and that its build is unofficial.

    Args:
        builds: of the session, by ``build_name``; of a variant without one nothing is known.
    """
    label = variant.label or name
    build = builds.get(variant.build_name)
    unofficial = build is not None and build.form is not None and build.form.unofficial
    return f"{label} {UNOFFICIAL}" if unofficial else label


def coding_of(workload: str, variant: Variant) -> str | None:
    """Return how a program is written: ``idiomatic``, ``tuned``, or ``as published`` (or another face).

    ``None``: the workload has no such programs, or the program answers a constant.
    """
    default = DEFAULT_CODING.get(workload)
    if default is None or variant.lean:
        return None
    face = _text(variant.settings.get(_FACE, _MATCHED))
    return _text(variant.settings.get(_CRAFT, default)) if face == _MATCHED else f"as {face}"


def _text(value: SettingValue) -> str:
    return str(value)


__all__ = ["DEFAULT_CODING", "UNOFFICIAL", "UNOFFICIAL_NOTE", "coding_of", "label_of"]

# SPDX-License-Identifier: Apache-2.0
"""What must be known before a session is measured here, though nothing keeps it from being measured."""

from __future__ import annotations

from collections.abc import Mapping

from harness.launchers.limits import remark_on_limits
from harness.model import Variant
from harness.session.wiring import Assembly


def remarks(assembly: Assembly, variants: Mapping[str, Variant]) -> dict[str, str]:
    """Return variant -> what must be said of it; those of which nothing must are left out.

    A container's limits are its daemon's business, and a far host's processes have none.
    """
    if assembly.launcher.name != "process" or not assembly.host.here:
        return {}
    said = {name: remark_on_limits(variant.runtime) for name, variant in variants.items()}
    return {name: remark for name, remark in said.items() if remark is not None}

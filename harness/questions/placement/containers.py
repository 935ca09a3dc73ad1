# SPDX-License-Identifier: Apache-2.0
"""What a container costs beside the process in it: its image, the daemon's time, and the control group's counts."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.summaries import summarised
from harness.evidence import Evidence
from harness.model import Estimate
from harness.model.formatting import show
from harness.publish.cells import Cell

CONTAINER = "container"
#: part of the key -> column of the table of trials, each with its unit at its end
PARTS = {
    "image": "image_bytes",
    "create": "container_create_s",
    "start": "container_start_s",
    "group_memory": "group_memory_bytes",
    "group_most": "group_memory_max_bytes",
    "process_memory": "process_rss_bytes",
    "group_cpu": "group_cpu_s",
    "process_cpu": "process_cpu_s",
}


def container_costs(evidence: Evidence | None) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Return (host, variant) -> part -> its cost, of what was measured in containers.

    Groups and processes were read at one moment, when the service was about to be stopped.
    """
    if evidence is None:
        return {}
    inside = evidence.trials[evidence.trials["image_bytes"].notna()]
    return {
        (str(host), str(name)): {part: summarised(mine, column) for part, column in PARTS.items()}
        | {"image": _image(float(mine["image_bytes"].iloc[-1]))}
        for (host, name), mine in inside.groupby(["host", "variant"], sort=False, observed=True)
    }


def container_rows(evidence: Evidence | None) -> list[Mapping[str, Cell]]:
    """Return one table row per variant and host that was measured in containers; none where nothing was."""
    if evidence is None:
        return []
    layers = _layers(evidence)
    return [
        {"variant": evidence.variants[name], "host": host, "layers": layers.get(name), **costs}
        for (host, name), costs in container_costs(evidence).items()
    ]


def _image(value: float) -> Estimate:
    return Estimate(value=value, unit="B", method="as is", estimand="of one image", n_trials=0)


def _layers(evidence: Evidence) -> dict[str, str]:
    """Variant -> the sizes of its image's layers, the base first, as the last record has them."""
    found: dict[str, str] = {}
    for session in evidence.sessions:
        if session.header.plan.launcher != CONTAINER:
            continue
        for record in session.records():
            if record.instance is not None and record.instance.container is not None:
                sizes = [show(_image(float(size))).text for size in record.instance.container.layer_bytes]
                found[record.planned.configuration.variant_name] = " + ".join(sizes)
    return found

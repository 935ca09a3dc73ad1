# SPDX-License-Identifier: Apache-2.0
"""What a container costs beside the process in it: its image, the daemon's time, and the control group's counts."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.summaries import summarise
from harness.evidence import Evidence
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED, show
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug

CONTAINER = "container"
NO_CONTAINER = "no session of this profile was measured in containers"
#: part of the key -> column of the table of trials
PARTS = {
    "create": "container_create_s",
    "start": "container_start_s",
    "group_memory": "group_memory_bytes",
    "group_most": "group_memory_max_bytes",
    "process_memory": "process_rss_bytes",
    "group_cpu": "group_cpu_s",
    "process_cpu": "process_cpu_s",
}


def container_cells(evidence: Evidence | None) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant and host that was measured in containers; none where nothing was.

    Groups and processes were read at one moment, when the service was about to be stopped.
    """
    rows: list[Mapping[str, Cell] | None] = []
    if evidence is None:
        return rows
    inside = evidence.trials[evidence.trials["image_bytes"].notna()]
    layers = _layers(evidence)
    for (host, name), mine in inside.groupby(["host", "variant"], sort=False, observed=True):
        cells: dict[str, Cell] = {
            "variant": evidence.variants[str(name)],
            "host": str(host),
            "image": _image(float(mine["image_bytes"].iloc[-1])),
            "layers": layers.get(str(name)),
        }
        rows.append(
            cells | {part: summarise(mine, column).iloc[0]["estimate"] for part, column in PARTS.items()}
        )
    return rows


def publish_containers(
    publisher: Publisher, evidence: Evidence | None, variants: Mapping[str, str], *, prefix: str = "placement"
) -> Published:
    """Publish ``<prefix>.container.{image,create,start,...}.<variant>``, absent where no container was measured.

    Also ``<prefix>.container.measured`` where one was. Several hosts: the first one's.
    """
    units = {part: "s" if column.endswith("_s") else "B" for part, column in PARTS.items()} | {"image": "B"}
    rows = {str(row["variant"]): row for row in reversed(container_cells(evidence)) if row is not None}
    with publisher.together() as published:
        for name, label in variants.items():
            row = rows.get(label)
            for part, unit in units.items():
                key, cell = f"{prefix}.container.{part}.{slug(name)}", row.get(part) if row else None
                if isinstance(cell, Estimate):
                    publisher.number(key, cell)
                else:
                    publisher.absent(key, unit, NOT_MEASURED)
        if rows:
            publisher.text(f"{prefix}.container.measured", "measured")
    return published


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


__all__ = ["NO_CONTAINER", "container_cells", "publish_containers"]

# SPDX-License-Identifier: Apache-2.0
"""Images of pods beside the published ones: their size, how long the node took to import one, and the pod to start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from harness.analysis.stats.pairing import counting
from harness.evidence.published import FOLDER, published_table
from harness.model import Estimate
from harness.publish.leaves import each, means
from harness.publish.results import Absent, Leaf, Tree, as_is
from harness.questions.kubernetes.analysis import SERVED, Clustered

FILE = FOLDER / "strings-images.csv"
COLUMNS = ("source", "application", "language", "image_mb")
#: variant -> the application that was published; an image of Helidon in a pod has a runtime trimmed by jlink
PUBLISHED: Mapping[str, str] = MappingProxyType(
    {"go-nethttp": "Go", "java-helidon": "Helidon jlink", "java-helidon-native": "Helidon native"}
)
_MEGABYTE = 1_000_000
_PROCESS = "last_pod_process_s"


def published_images(*, root: Path | None = None) -> pd.Series:
    """Return application -> the size of its image as printed, in bytes.

    Raises:
        InputError: a column is missing, or a size is no number above zero.
    """
    frame = published_table(FILE, COLUMNS, ("image_mb",), root=root)
    return pd.Series((frame["image_mb"] * _MEGABYTE).to_numpy(), index=frame["application"])


def image_results(found: Mapping[str, Clustered | None], variants: Mapping[str, str]) -> Tree:
    """Return of every variant: ``size`` of its image, ``published``, ``over`` (the first over the second),
    ``import`` (until the node had it, of the sessions whose node had not), ``process`` and ``served`` (from the
    request for one pod until its process was there, and until it served)."""
    tables = [one.trials for one in found.values() if one is not None]
    trials = pd.concat(tables) if tables else None
    scale = found.get("scale")
    one = None if scale is None else counting(scale.at({"pods": "one"}))
    published = published_images()

    def of_print(name: str) -> float | None:
        return float(published[PUBLISHED[name]]) if PUBLISHED.get(name) in published.index else None

    sizes = each(
        _told(trials, "image_bytes"), variants, lambda mine: _size(_last(mine, "image_bytes")), _size(None)
    )
    return {
        "size": sizes,
        "published": {
            name: as_is(of_print(name), "B", "size of the image, as published") for name in variants
        },
        "over": {name: _over(sizes[name], of_print(name)) for name in variants},
        "import": each(
            _told(trials, "image_import_s"),
            variants,
            _imported,
            Absent(unit="s", why="the node had the images"),
        ),
        "process": means(one, variants, _PROCESS),
        "served": means(one, variants, SERVED),
    }


def published_whole() -> Leaf:
    """Return the published size of an image with a whole JDK; no image of ours has one."""
    return as_is(float(published_images()["Helidon JVM"]), "B", "image with a whole JDK, as published")


def _told(trials: pd.DataFrame | None, column: str) -> pd.DataFrame | None:
    return None if trials is None or column not in trials else trials[trials[column].notna()]


def _last(trials: pd.DataFrame, column: str) -> float:
    return float(trials[column].iloc[-1])


def _size(value: float | None) -> Estimate:
    return as_is(value, "B", "size of the image")


def _over(size: Leaf, published: float | None) -> Estimate:
    value = size.value if isinstance(size, Estimate) else None
    ratio = None if value is None or published is None else value / published
    return as_is(ratio, "ratio", "size of the image over the published one")


def _imported(trials: pd.DataFrame) -> Leaf:
    """All trials of a session have the same import, so it is no mean over trials."""
    sessions = trials.groupby("session_id")["image_import_s"].first()
    return as_is(float(sessions.mean()), "s", f"import of the image, mean of {len(sessions)}")


__all__ = ["FILE", "PUBLISHED", "image_results", "published_images", "published_whole"]

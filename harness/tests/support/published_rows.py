# SPDX-License-Identifier: Apache-2.0
"""Estimates published as rows, for what reads published values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.model import Estimate
from harness.publish.publisher import Publisher
from harness.rows import of_estimate, tidy
from harness.rows.schema import records
from harness.rows.text import entry_of


def entry(estimate: Estimate, **about: Any) -> dict[str, Any]:
    """Return the published value of an estimate, of a mean unless ``about`` says otherwise."""
    (row,) = records(tidy([of_estimate(estimate, **{"kind": "mean", **about})]))
    return entry_of(row)


def publish(root: Path, notebook: str, values: Mapping[str, Estimate]) -> None:
    """Publish estimates by key, as a notebook does."""
    entries = {key: entry(estimate) for key, estimate in values.items()}
    Publisher(notebook, root=root, publish=True).values(entries)

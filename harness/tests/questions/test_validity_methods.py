# SPDX-License-Identifier: Apache-2.0
"""Methods that tell more in the same minutes have a figure, and what a duet's places do is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import NothingToDraw
from harness.evidence import Evidence
from harness.project import find_root
from harness.publish.results import leaves, measured
from harness.questions.validity.duet_places import duet_places, place_results, place_rows
from harness.questions.validity.methods import PARTS, method_cells, method_results
from harness.store import Store
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.synthetic import make_project
from harness.verify.simulated import VERIFICATIONS, run_verify

DUET = "known-effect-duet"


def test_every_row_that_is_drawn_is_a_row_of_verify_with_enough_simulations() -> None:
    assert all(VERIFICATIONS[name].sims // part >= 10 for name, part in PARTS.items())
    assert all(any(cell.control for cell in run_verify(name, 10).cells) for name in ("duet", "agreement"))


def test_the_figure_has_a_line_for_each_kind_of_cell_with_its_limits() -> None:
    found = [run_verify(name, 100) for name in ("tost", "multiplicity")]
    figure = method_cells(found)
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert len(labels) == len(set(labels))
    assert any(one == "tost: power, ratio 1" for one in labels)
    assert any(one.endswith("(control)") for one in labels)
    said = method_results(found)
    assert all(measured(leaf) for _, leaf in leaves(said))
    with pytest.raises(NothingToDraw):
        method_cells([])


def test_the_bundled_duet_tells_what_its_places_did(tmp_path: Path) -> None:
    from harness.analysis.tables.tidy import tidy

    root = make_project(tmp_path, experiments=())
    (session,) = Store(find_root()).sessions(DUET, bundled=True)
    (root / "data" / "raw" / "bundled").mkdir(parents=True, exist_ok=True)
    (root / "data" / "raw" / "bundled" / DUET).symlink_to(session.folder.parent)
    lay_tables(root, DUET)
    tidy(root, [DUET])
    (mine,) = Store(root).sessions(DUET, bundled=True)
    found = duet_places(Evidence(root=root, experiment=DUET, sessions=(mine,)))
    there, empty = place_results(found), place_results({})
    assert [path for path, _ in leaves(there)] == [path for path, _ in leaves(empty)]
    assert all(measured(leaf) for _, leaf in leaves(there))
    assert not any(measured(leaf) for _, leaf in leaves(empty)) and duet_places(None) == {}
    assert len(place_rows(found)) == 2

# SPDX-License-Identifier: Apache-2.0
"""A ratio in the text and the two cells of a table that it comes from never say two things."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.summaries import summarise
from harness.analysis.tables.tidy import tidy
from harness.errors import RematchError
from harness.model import Estimate
from harness.publish import Published, Publisher
from harness.publish.agreement import checked_ratios, contradictions
from harness.publish.build import build_paper
from harness.tests.support.available import some_in_every_run
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.synthetic import ROOT, make_project

#: A factor for each block; together they are one.
WOBBLE = {1: 1.1, 2: 1 / 1.1, 3: 1.05, 4: 1 / 1.05, 5: 1.0}


def trials(slow: float = 1.0) -> pd.DataFrame:
    """Five blocks of two variants; ``slow``: what the second one's p99 is multiplied by."""
    rows = [
        {
            "experiment": "e", "session_id": "s", "trial_id": f"{block}-{variant}", "block": block, "position": 1,
            "duplicate": False, "variant": variant, "configuration": variant, "excluded": False, "flags": "",
            "latency_p99_s": 0.01 * block * (slow * 2.5 * WOBBLE[block] if variant == "java" else 1.0),
        }
        for block in range(1, 6)
        for variant in ("go", "java")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def published(root: Path, *, ratio_of: pd.DataFrame, table_of: pd.DataFrame) -> None:
    publisher = Publisher("99-test", root=root, publish=True)
    (found,) = compare(ratio_of, "latency_p99_s", reference="go")
    publisher.comparison("loops.p99", "java", found)
    frame = summarise(table_of, "latency_p99_s")
    rows: list[dict[str, Estimate | str | int | None]] = [
        {"variant": str(row["variant"]), "p99": row["estimate"]} for _, row in frame.iterrows()
    ]
    publisher.table("loops.table", {"variant": "variant", "p99": "p99"}, rows, caption="p99")


def test_a_ratio_of_the_trials_of_a_table_agrees_with_it(tmp_path: Path) -> None:
    published(tmp_path, ratio_of=trials(), table_of=trials())
    (one,) = checked_ratios(tmp_path)
    assert (one.key, one.table) == ("loops.p99.ratio.java", "loops.table")
    assert one.ratio == pytest.approx(one.cells[0] / one.cells[1], rel=1e-9)
    assert contradictions(tmp_path) == ()


def test_a_ratio_of_whole_trials_beside_a_table_of_settled_ones_is_a_contradiction(tmp_path: Path) -> None:
    published(tmp_path, ratio_of=trials(slow=17.1 / 2.5), table_of=trials())
    (words,) = contradictions(tmp_path)
    assert words.startswith(
        "loops.p99.ratio.java is 17.10, the cells of table loops.table it comes from are "
    )
    assert words.endswith("a ratio of 2.500")


def test_a_paper_that_says_two_things_is_not_built(tmp_path: Path) -> None:
    published(tmp_path, ratio_of=trials(slow=2.0), table_of=trials())
    with pytest.raises(RematchError, match="two numbers of one thing: loops.p99.ratio.java is 5"):
        build_paper(tmp_path)


#: notebook -> the sessions that come with the project which it reads
SAMPLE = {
    "29-three-workloads": ("strings-warm",),
    "49-strings-settings": ("strings-warm-duet", "generator-cpus", "strings-settings"),
    "30-strings": ("strings-rounds", "strings-payload", "strings-published"),
    "31-startup": ("strings-startup", "strings-rounds"),
    "32-bank": ("bank-rematch", "bank-connections"),
    "33-clients": ("clients-hello",),
    "34-forms": ("forms",),
    "41-gc-peaks": ("gc-peaks", "gc-loops"),
    "50-scaling": ("scaling",),
    "53-kubernetes": ("k8s-rounds", "k8s-scale-out", "k8s-limits"),
}


@pytest.mark.parametrize(
    "notebook", some_in_every_run(SAMPLE, ["34-forms", "32-bank"], "each bundled session")
)
def test_every_ratio_of_the_sessions_that_come_with_the_project_agrees_with_its_table(
    tmp_path: Path, notebook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project(tmp_path, experiments=())
    bundled = root / "data" / "raw" / "bundled"
    bundled.parent.mkdir()
    bundled.symlink_to(ROOT / "data" / "raw" / "bundled")
    # a figure has no ratio, and drawing takes half of the time; test_build.py and whole/test_notebooks.py draw them
    monkeypatch.setattr(Publisher, "figure", lambda *_, **__: Published("not drawn"))
    lay_tables(root, *SAMPLE[notebook])
    tidy(root, experiments=SAMPLE[notebook], sources=("bundled",))
    path = root / "notebooks" / f"{notebook}.ipynb"
    named = path.read_text("utf-8").replace('profile = \\"quick\\"', 'profile = \\"sample\\"')
    path.write_text(named, "utf-8")
    monkeypatch.setenv("REMATCH_ROOT", str(root))
    execute_in_process(root, notebook, experiments=",".join(SAMPLE[notebook]))
    assert checked_ratios(root)
    assert contradictions(root) == ()


def test_a_ratio_without_both_cells_in_one_table_is_left_alone(tmp_path: Path) -> None:
    published(tmp_path, ratio_of=trials(), table_of=trials().query("variant == 'go'"))
    assert checked_ratios(tmp_path) == ()

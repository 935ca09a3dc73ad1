# SPDX-License-Identifier: Apache-2.0
"""One tree of results, two renderings: the keys do not depend on what was measured, tables have the same leaves."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.errors import InputError
from harness.figures import forest
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish import Publisher, read_values
from harness.publish.comparisons import noise_results
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Tree, Words, for_each, leaves, rows_of


def estimate(value: float | None, unit: str = "s") -> Estimate:
    return Estimate(
        value=value, unit=unit, method="as is", estimand="a number", n_trials=3, inputs=("e/s/0001-a",)
    )


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    trials = pd.DataFrame(
        [
            {
                "experiment": "e", "session_id": "s", "trial_id": f"{block}-{variant}", "source": "measured",
                "variant": variant, "configuration": variant, "block": block, "duplicate": False, "excluded": False, "outcome": "ok", "flags": "", "position": block,
                "throughput_per_s": rate * (1 + 0.01 * block), "n_requests": 1000,
            }
            for block in range(6)
            for variant, rate in (("go", 100.0), ("java", 150.0 + block))
        ]
    )  # fmt: skip
    (found,) = compare(trials, "throughput_per_s", reference="go")
    return found


def tree(comparison: Comparison | None) -> Tree:
    """What a question says of two variants, the second of which was never measured."""
    return {
        "name": {"java-b": "Java B", "java-a": "Java A"},
        "growth": {"off": for_each(("java-a", "java-b"), {"java-a": comparison}, NO_COMPARISON)},
        "law": {
            "off": {
                "contention": {
                    "java-a": estimate(0.25, "share") if comparison else Absent(unit="share"),
                    "java-b": Absent(unit="share", why="fewer than three sizes"),
                }
            }
        },
        "fewest": "1" if comparison else NO_TEXT,
    }


def published(root: Path, comparison: Comparison | None) -> dict[str, object]:
    Publisher("50-a", root=root, publish=True).put("scaling", tree(comparison), guards=("law",))
    return dict(read_values(root))


def test_a_key_is_the_path_of_its_leaf_and_a_comparison_is_ratio_and_verdict(
    tmp_path: Path, comparison: Comparison
) -> None:
    values = read_values(tmp_path) if published(tmp_path, comparison) else {}
    assert values["scaling.law.off.contention.java_a"]["value"] == 0.25
    assert values["scaling.growth.off.ratio.java_a"]["value"] == comparison.ratio.value
    assert values["scaling.growth.off.verdict.java_a"]["text"]
    assert values["scaling.fewest"]["text"] == "1"
    assert values["scaling.law.off.contention.java_b"]["reason"] == "fewer than three sizes"


def test_the_keys_are_the_same_whether_measured_or_not(tmp_path: Path, comparison: Comparison) -> None:
    with_data = published(tmp_path / "a", comparison)
    without = published(tmp_path / "b", None)
    guards = {"scaling.measured", "scaling.law.measured"}
    assert guards <= set(with_data) and not guards & set(without)
    assert set(with_data) - guards == set(without)


def test_a_branch_is_measured_when_one_of_its_leaves_says_anything(
    tmp_path: Path, comparison: Comparison
) -> None:
    partly: Tree = {"a": {"x": comparison}, "b": {"x": Absent()}, "c": {"x": estimate(None)}, "d": "words"}
    Publisher("50-a", root=tmp_path, publish=True).put("q", partly, guards=("a", "b", "c", "d"))
    values = read_values(tmp_path)
    assert {"q.measured", "q.a.measured", "q.d.measured"} <= set(values)
    assert "q.b.measured" not in values and "q.c.measured" not in values
    with pytest.raises(InputError, match="no branch"):
        Publisher("50-a", root=tmp_path, publish=True).put("q", partly, guards=("e",))


def test_two_leaves_of_one_key_are_refused(tmp_path: Path) -> None:
    twice: Tree = {"java-a": estimate(1.0), "java_a": estimate(2.0)}
    with pytest.raises(InputError, match="two results of one key"):
        Publisher("50-a", root=tmp_path, publish=True).put("q", twice)


def test_rows_are_made_of_the_same_leaves_and_called_as_the_tree_says(comparison: Comparison) -> None:
    growth, contention = "growth.<logging>.<variant>", "law.<logging>.contention.<variant>"
    columns = ("variant", "logging", growth, f"{growth}:verdict", f"{growth}:blocks", contention)
    assert rows_of(tree(comparison), columns) == [
        {
            "variant": "Java A", "logging": "off", growth: comparison.ratio, f"{growth}:blocks": 6,
            f"{growth}:verdict": str(comparison.verdict).replace("_", " "), contention: estimate(0.25, "share"),
        }
    ], "a variant of which nothing was measured has no row"  # fmt: skip
    assert rows_of(tree(None), columns) == []


def test_what_a_variant_is_called_is_published_and_is_no_result(tmp_path: Path) -> None:
    Publisher("50-a", root=tmp_path, publish=True).put("q", {"name": {"java-a": "Java A"}, "x": Absent()})
    assert read_values(tmp_path)["q.name.java_a"]["text"] == "Java A"
    assert "q.measured" not in read_values(tmp_path)


def test_rows_are_in_the_order_of_the_names_with_a_gap_between_outer_levels() -> None:
    found: Tree = {
        "name": {"b": "B", "a": "A"},
        "lead": {log: {"a": estimate(1.0), "b": estimate(2.0)} for log in ("off", "on")},
    }
    rows = rows_of(found, ("variant", "logging", "lead.<logging>.<variant>"))
    assert [row and (row["logging"], row["variant"]) for row in rows] == [
        ("off", "B"), ("off", "A"), None, ("on", "B"), ("on", "A"),
    ]  # fmt: skip


def test_a_row_keeps_a_reason_for_what_it_lacks() -> None:
    found: Tree = {"rates": {"slow": {"p99": estimate(0.1), "gain": Absent(why="one rate")}}}
    (row,) = rows_of(found, ("rates.<rate>.p99", "rates.<rate>.gain"))
    assert row is not None
    assert row["rate"] == "slow" and row["rates.<rate>.p99"] == estimate(0.1)
    gain = row["rates.<rate>.gain"]
    assert isinstance(gain, Estimate) and gain.value is None and gain.warnings == ("one rate",)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [(("lead.<v>", "leap.<v>"), "no branch"), (("lead.<v>", "lead.<w>"), "columns of different levels")],
)
def test_a_column_that_leads_nowhere_or_to_other_rows_is_refused(
    columns: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        rows_of({"lead": {"a": estimate(1.0)}}, columns)


def test_leaves_come_in_the_order_of_the_tree(comparison: Comparison) -> None:
    assert [".".join(path) for path, _ in leaves(tree(comparison))] == [
        "name.java-b", "name.java-a", "growth.off.java-a", "growth.off.java-b", "law.off.contention.java-a", "law.off.contention.java-b", "fewest",
    ]  # fmt: skip


def test_a_noise_above_a_hundred_percent_is_published_as_what_it_is(
    tmp_path: Path, comparison: Comparison
) -> None:
    """Two blocks of a smoke session may differ by more than the value itself."""
    noisy = comparison.noise.model_copy(update={"noise": 3.7, "elsewhere": "logging on"})
    found = comparison.model_copy(update={"noise": noisy})
    publisher = Publisher("30-a", root=tmp_path, publish=True)
    publisher.put("strings.throughput", noise_results((found,), {}))
    assert read_values(tmp_path)["strings.throughput.noise"]["value"] == 3.7


def test_results_that_share_a_prefix_with_others_leave_its_guard_alone(
    tmp_path: Path, comparison: Comparison
) -> None:
    found: Tree = {"a": {"x": comparison}, "b": {"said": Words("twice", ("e/s/1",))}}
    Publisher("50-a", root=tmp_path, publish=True).put("q", found, guards=["a"], whole=False)
    values = read_values(tmp_path)
    assert "q.a.measured" in values and "q.measured" not in values
    assert (values["q.b.said"]["text"], values["q.b.said"]["inputs"]) == ("twice", ["e/s/1"])


def test_a_figure_of_nothing_says_that_nothing_was_measured(tmp_path: Path) -> None:
    trials = pd.DataFrame({"excluded": [True], "latency_p99_s": [0.1], "rss_after_bytes": [1e6]})
    said = Publisher("50-a", root=tmp_path, publish=True).figure(
        "q.forest", forest, (), trials, quantity="throughput", alt="a", caption="c"
    )
    assert said.text == NOT_MEASURED
    assert not (tmp_path / "paper" / "generated" / "figures").exists()

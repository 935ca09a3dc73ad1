# SPDX-License-Identifier: Apache-2.0
"""A sweep over cores: what grows is told, the law is fitted where it can be, and places are tested for being alike."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.usl import usl
from harness.errors import InputError
from harness.model import Verdict
from harness.questions.placement import places
from harness.questions.placement.analysis import PlaceRow, place_rows
from harness.questions.scaling import against_cores, curves_caption
from harness.questions.scaling.analysis import interaction, scaling_rows, sizes_of
from harness.session import prepare
from harness.store import SessionFolder
from harness.tests.support.sessions import make_session_project, measure_tiny, tiny_assembly


def sweep_trials(
    sizes: tuple[int, ...],
    *,
    blocks: int = 6,
    shared: tuple[int, ...] = (),
    noise: float = 0.02,
    seed: int = 1,
) -> pd.DataFrame:
    """Made-up trials: Go's log line costs a third everywhere, Java's a half on one core and less on more."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(1, blocks + 1):
        shift = rng.normal(0, noise)
        for variant, law in (("go-nethttp", (9000, 0.05, 0.002)), ("java-helidon", (6000, 0.02, 0.001))):
            for size in sizes:
                for logging in ("off", "on"):
                    kept = 1.0 if logging == "off" else 0.66 if variant == "go-nethttp" else 1 - 0.5 / size
                    value = float(usl([size], *law)[0]) * kept * float(np.exp(shift + rng.normal(0, noise)))
                    rows.append(
                        {
                            "experiment": "scaling", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                            "position": len(rows) + 1, "duplicate": False, "variant": variant, "label": variant,
                            "implementation": variant, "language": variant.split("-")[0], "cores": str(size),
                            "logging": logging, "configuration": f"{variant},{size},{logging}", "excluded": False,
                            "flags": "shared_cores" if size in shared else "", "throughput_per_s": value,
                            "latency_p99_s": 64 / value, "latency_resolution_s": 1e-6, "measurement_s": 6.0,
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows)


def test_with_enough_sizes_each_variant_has_its_law_and_its_growth() -> None:
    rows = scaling_rows(sweep_trials((1, 2, 4, 8)), by=["logging"], n_resamples=60)
    assert [(row.variant, row.levels["logging"]) for row in rows] == [
        ("go-nethttp", "off"), ("go-nethttp", "on"), ("java-helidon", "off"), ("java-helidon", "on"),
    ]  # fmt: skip
    go = rows[0]
    assert go.fit is not None and go.refused is None and go.growth is not None
    assert go.fit.per_core_per_s.value == pytest.approx(9000, rel=0.05)
    assert go.growth.ratio.value == pytest.approx(float(usl([8], 1, 0.05, 0.002)[0]), rel=0.05)
    assert len(go.growth.ratio.inputs) == 12
    at_8 = go.fit.band[-1]
    assert at_8.cores == 8 and at_8.low is not None and at_8.high is not None
    assert at_8.low < at_8.value < at_8.high


def test_two_sizes_give_their_ratio_with_an_interval_and_no_law() -> None:
    row = scaling_rows(sweep_trials((1, 2)), by=["logging"])[0]
    assert row.fit is None
    assert (
        row.refused
        == "2 numbers of cores were measured; the law has three numbers of its own and needs 3 or more"
    )
    assert row.growth is not None and row.growth.ratio.low is not None
    assert row.growth.ratio.low < 1.9 < row.growth.ratio.high  # type: ignore[operator]  # a low comes with a high


def test_sizes_that_the_generator_shares_bend_no_law() -> None:
    trials = sweep_trials((1, 2, 4, 8), shared=(8,))
    lost = trials["cores"] == "8"
    trials.loc[lost, "throughput_per_s"] *= 0.5
    row = scaling_rows(trials, by=["logging"], n_resamples=20)[0]
    assert row.shared == (8,)
    assert row.fit is not None and row.fit.per_core_per_s.value == pytest.approx(9000, rel=0.05)
    assert [point.cores for point in row.fit.band][-1] == 4
    few = scaling_rows(sweep_trials((1, 2, 4), shared=(4,)), by=["logging"])[0]
    assert few.refused is not None and "1 of them shared with the generator" in few.refused


def test_an_effect_that_depends_on_cores_is_a_ratio_of_ratios_away_from_one() -> None:
    trials = sweep_trials((1, 2, 4, 8))
    found = {
        name: interaction(
            trials[trials["variant"] == name], "throughput_per_s", inner=("logging", "on", "off"), outer=("cores", "8", "1"),
        )
        for name in ("go-nethttp", "java-helidon")
    }  # fmt: skip
    go, java = found["go-nethttp"], found["java-helidon"]
    assert go is not None and java is not None
    assert java.ratio.value == pytest.approx((1 - 0.5 / 8) / 0.5, rel=0.05)
    assert java.verdict == Verdict.DIFFERENT and java.n_blocks == 6
    assert go.ratio.low is not None and go.ratio.high is not None and go.ratio.low < 1 < go.ratio.high
    assert len(set(java.ratio.inputs)) == 24  # all four trials of every block


def test_without_all_four_trials_of_any_block_there_is_no_interaction() -> None:
    trials = sweep_trials((1, 2))
    alone = trials[
        (trials["variant"] == "go-nethttp") & ~((trials["cores"] == "2") & (trials["logging"] == "on"))
    ]
    inner, outer = ("logging", "on", "off"), ("cores", "2", "1")
    assert interaction(alone, "throughput_per_s", inner=inner, outer=outer) is None
    assert interaction(trials.assign(excluded=True), "throughput_per_s", inner=inner, outer=outer) is None


def test_a_level_that_is_no_number_of_cores_is_refused() -> None:
    with pytest.raises(InputError, match="not a number of cores"):
        sizes_of(sweep_trials((1, 2)).assign(cores="all"))


@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 4, 8)])
def test_curves_can_be_drawn_with_a_law_and_without_one(sizes: tuple[int, ...]) -> None:
    trials = sweep_trials(sizes, shared=(sizes[-1],))
    figure = against_cores(trials, scaling_rows(trials, by=["logging"], n_resamples=20))
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["no log line", "a log line"]
    assert len(figure.axes) == 4


def test_a_caption_names_bands_columns_and_grounds_only_where_the_figure_has_them() -> None:
    few = sweep_trials((1, 2), shared=(2,))
    few = few[few["logging"] == "off"]
    caption = curves_caption(scaling_rows(few, by=["logging"], n_resamples=20))
    assert "grey ground" in caption
    assert not re.search("[Bb]and|column", caption)
    many = sweep_trials((1, 2, 4, 8))
    caption = curves_caption(scaling_rows(many, by=["logging"], n_resamples=20))
    assert "Bands: " in caption and "a column for each level of logging" in caption
    assert "ground" not in caption


def test_no_line_leads_from_cores_of_their_own_to_shared_ones() -> None:
    trials = sweep_trials((1, 2, 4), shared=(4,))
    figure = against_cores(trials, scaling_rows(trials, by=["logging"], n_resamples=20))
    joined = [
        set(np.asarray(line.get_xdata()))
        for axes in figure.axes
        for line in axes.lines
        if line.get_linestyle() != "None" and len(np.asarray(line.get_xdata())) > 1
    ]
    assert {1, 2} in joined
    assert not [sizes for sizes in joined if 4 in sizes]


def place_trials(seed: int = 1) -> pd.DataFrame:
    """Made-up sessions: the first place, the same again, a container as fast, a far host of two thirds."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    sessions = (
        ("quick-local-1", "local", "process", 1.0), ("quick-local-2", "local", "process", 1.0),
        ("quick-local-container-1", "local", "container", 1.0), ("quick-big-1", "big", "process", 0.66),
    )  # fmt: skip
    for session, host, launcher, speed in sessions:
        for block in range(1, 9):
            for pinning in ("unpinned", "pinned"):
                value = 9000 * speed * float(np.exp(rng.normal(0, 0.01)))
                rows.append(
                    {
                        "experiment": "placement", "session_id": session, "host": host, "launcher": launcher,
                        "trial_id": f"{len(rows):04d}", "block": block, "position": len(rows) + 1, "duplicate": False,
                        "variant": "go-nethttp", "label": "Go", "language": "go", "pinning": pinning,
                        "configuration": pinning, "excluded": False, "flags": "", "throughput_per_s": value,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def rows_of(trials: pd.DataFrame) -> dict[str, PlaceRow]:
    return {row.place: row for row in place_rows(trials, "throughput_per_s", base_session="quick-local-1")}


def test_each_place_is_compared_with_the_first_blocks_with_blocks_and_sessions_with_sessions() -> None:
    found = rows_of(place_trials())
    assert {place: (row.kind, row.paired) for place, row in found.items()} == {
        "the same again": ("again", False),
        "pinned": ("pinned", True),
        "container, unpinned": ("container", False),
        "container, pinned": ("container_pinned", False),
        "process on big, unpinned": ("far", False),
        "process on big, pinned": ("far_pinned", False),
    }
    assert found["container, unpinned"].verdict == Verdict.EQUIVALENT
    assert found["pinned"].verdict == Verdict.EQUIVALENT
    assert found["process on big, unpinned"].verdict == Verdict.DIFFERENT
    assert found["process on big, unpinned"].ratio.value == pytest.approx(0.66, rel=0.03)
    assert {row.reference for row in found.values()} == {"process, unpinned"}
    assert places(list(found.values()), quantity="throughput").axes


def test_no_margin_is_taken_below_what_two_sessions_at_one_place_differ_by() -> None:
    trials = place_trials()
    trials.loc[trials["session_id"] == "quick-local-2", "throughput_per_s"] *= 1.12
    found = rows_of(trials)
    assert (found["container, unpinned"].margin or 0) > 0.12
    assert any("margin widened from 5.0%" in warning for warning in found["container, unpinned"].warnings)


def test_two_trials_tell_nothing_of_the_noise_and_nothing_is_concluded_from_them() -> None:
    trials = place_trials()
    trials.loc[trials["session_id"] == "quick-local-2", "throughput_per_s"] *= 1.12
    for row in rows_of(trials[trials["block"] <= 2]).values():
        assert (row.margin, row.band) == (None, None)
        assert row.verdict == Verdict.INCONCLUSIVE


def test_without_a_second_session_at_the_first_place_that_is_said() -> None:
    trials = place_trials()
    found = rows_of(trials[trials["session_id"] != "quick-local-2"])
    assert any("drift between sessions" in warning for warning in found["container, unpinned"].warnings)
    assert not any("drift between sessions" in warning for warning in found["pinned"].warnings)


def test_a_place_without_any_trial_of_the_first_session_says_nothing() -> None:
    assert place_rows(place_trials(), "throughput_per_s", base_session="quick-local-9") == ()


LEVELS = """
name = "tiny"
title = "Tiny"
question = "Are cores a factor?"
workload = "strings"
reference = "calm"
load = "few"

[variants.calm]
implementation = "misbehaving"

[factors.cores]
1 = { runtime = { cpus = 1, pin = "limit" } }
4096 = { runtime = { cpus = 4096, pin = "limit" } }

[profiles.smoke]
blocks = 1

[profiles.smoke.loads.few]
generator = "locust"
profile = { model = "closed", users = 2, loops = 5 }
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """A session of which one level wants more cores than any machine has."""
    root = make_session_project(tmp_path_factory.mktemp("cores"))
    (root / "harness/experiments/tiny.toml").write_text(LEVELS)
    return measure_tiny(root)


def test_a_level_that_this_machine_cannot_give_is_left_out_with_the_reason(measured: SessionFolder) -> None:
    (gone,) = measured.header.unavailable
    assert gone.variant == "cores=4096"
    assert gone.reason.startswith("4096 CPUs are required for the service, and this host has ")
    assert {trial.configuration.levels["cores"] for trial in measured.header.plan.trials} == {"1"}


def test_a_pinned_service_runs_where_its_record_says_and_nowhere_else(measured: SessionFolder) -> None:
    for record in measured.records():
        assert record.outcome == "ok", record.reason
        assert record.instance is not None and record.generator is not None
        assert record.instance.cpu_limit == 1
        assert record.instance.cpus_allowed == record.instance.cpu_affinity
        assert len(record.instance.cpu_affinity) == 1
        assert record.placement.startswith("pinned by the limit: service on CPU ")
        assert record.generator.cpu_affinity


def test_where_no_level_can_be_had_nothing_is_planned(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    (root / "harness/experiments/tiny.toml").write_text(LEVELS.replace("cpus = 1,", "cpus = 9999,"))
    with pytest.raises(InputError, match="9999 CPUs are required"):
        prepare(tiny_assembly(root), "tiny", profile="smoke", host="local", seed=1)

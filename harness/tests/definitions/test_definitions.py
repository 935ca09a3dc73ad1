# SPDX-License-Identifier: Apache-2.0
"""A definition that is wrong is one line: the file, the place, what was found, what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.definitions import experiment_files, load_implementations, load_requests, load_study
from harness.definitions.checks import check_variants
from harness.errors import InputError
from harness.measure.session.planning import plan_without
from harness.model import Unavailable, make_plan
from harness.project import find_root
from harness.tests.support.sessions import make_session_project

ROOT = find_root(Path(__file__).parent)


def complaint(root: Path, before: str, after: str) -> str:
    """Change the tiny experiment and return what is said about it."""
    path = root / "harness/experiments/tiny.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(InputError) as problem:
        load_study(root, "tiny")
    assert problem.value.exit_code == 2
    assert "\n" not in str(problem.value)
    assert "tiny.toml" in str(problem.value)
    return str(problem.value)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_session_project(tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "users = 2",
            "uesrs = 2",
            ["profiles.smoke.loads.few.profile.uesrs", "did you mean 'users'", "ramp_up_s"],
        ),
        ("title", "titel", ["titel", "did you mean 'title'"]),
        ("blocks = 1", "blocks = 'one'", ["profiles.smoke.blocks", "integer", "'one'"]),
        ("blocks = 1", "blocks = 0", ["profiles.smoke.blocks", "greater than or equal to 1"]),
        ("blocks = 1", "", ["profiles.smoke.blocks", "missing key"]),
        ('"closed"', '"shut"', ["profiles.smoke.loads.few.profile", "'closed', 'open'"]),
        (
            "blocks = 1\n",
            'blocks = 1\nsettle_s = 2\nloads.more = { generator = "jmeter", '
            'profile = { model = "open", rate_per_s = 9, duration_s = 2 } }\n',
            ["profiles.smoke", "settle_s = 2 leaves nothing of loads ['more']"],
        ),
        (
            "blocks = 1\n",
            'blocks = 1\nsettle_s = 2\nloads.more = { generator = "wrk", '
            'profile = { model = "closed", users = 9, duration_s = 5 } }\n',
            ["profiles.smoke", "settle_s = 2 needs single requests", "['more']"],
        ),
        ("loops = 5", "loops = 5, duration_s = 1", ["exactly one of loops, duration_s"]),
        (
            'generator = "locust"',
            'generator = "ab"',
            ["profiles.smoke.loads.few.generator", "'ab'", "jmeter"],
        ),
        ("[variants.calm]", "[variants.calm", ["broken TOML", "line 10"]),
        ('"misbehaving"', '"misbehavin"', ["variants.calm.implementation", "did you mean 'misbehaving'"]),
        ("settings = {  }", "settings = { fase = 1 }", ["variants.other.settings", "did you mean 'face'"]),
        ('reference = "calm"', 'reference = "clam"', ["'clam'", "'calm', 'other'"]),
        ('load = "few"', 'load = "many"', ["profiles.smoke.loads", "'many'", "'few'"]),
        ('load = "few"', 'load = "few"\nmix = "hallo"', ["mix", "did you mean 'hello'"]),
        ('name = "tiny"', 'name = "small"', ["must be the file's name", "'tiny'"]),
        ("blocks = 1", "blocks = 2026-01-01", ["dates and times"]),
        (
            'generator = "locust"',
            'generator = "locust"\nprocesses = 2',
            ["profiles.smoke.loads.few.processes", "must be 1", "found 2"],
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(root: Path, before: str, after: str, words: list[str]) -> None:
    said = complaint(root, before, after)
    for word in words:
        assert word in said


def test_an_unknown_workload_or_experiment_names_the_nearest(root: Path) -> None:
    assert "did you mean 'strings'" in complaint(root, 'workload = "strings"', 'workload = "string"')
    with pytest.raises(InputError, match="did you mean 'tiny'"):
        load_study(root, "tinny")


def test_an_experiment_may_be_a_path(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("mine") / "mine.toml"
    text = (root / "harness/experiments/tiny.toml").read_text()
    elsewhere.write_text(text.replace('name = "tiny"', 'name = "mine"'))
    assert load_study(root, str(elsewhere)).experiment.name == "mine"


def test_a_service_that_says_another_name_than_its_folder_is_refused(root: Path) -> None:
    path = root / "services/strings/misbehaving/service.toml"
    path.write_text(path.read_text().replace('name = "misbehaving"', 'name = "other"'))
    with pytest.raises(InputError, match=r"service\.toml: name: must be the folder's name"):
        load_implementations(root, "strings")


def test_a_line_of_the_requests_that_is_none_is_named(root: Path) -> None:
    path = root / "services/strings/contract/requests.jsonl"
    path.write_text(path.read_text() + '{"mix": "hello"}\n')
    with pytest.raises(InputError, match=r"requests\.jsonl: line 4: name: missing key"):
        load_requests(root, "strings")


@pytest.mark.parametrize("name", sorted(experiment_files(ROOT)))
def test_the_projects_own_experiments_are_sound(name: str) -> None:
    study = load_study(ROOT, name)
    for profile, definition in study.experiment.profiles.items():
        plan = make_plan(study.experiment, profile, 1)
        assert plan.n_blocks == definition.blocks
        for trial in plan.trials:
            assert trial.configuration.mix in study.requests
    for factor, levels in study.experiment.factors.items():  # a coding is told apart by its own factor alone
        assert factor == "craft" or all("craft" not in level.settings for level in levels.values())


def test_quick_has_at_least_five_blocks_everywhere() -> None:
    for name in experiment_files(ROOT):
        experiment = load_study(ROOT, name).experiment
        quick = experiment.profiles.get("quick")
        # of one program that stands beside other sessions nothing is compared within the session
        alone = len(experiment.variants) == 1 and not experiment.factors
        assert quick is None or quick.blocks >= 5 or alone, name


def test_jvm_variants_state_collector_and_heap_and_all_variants_have_as_many_cpus() -> None:
    for name in experiment_files(ROOT):
        study = load_study(ROOT, name)
        assert len({variant.runtime.cpus for variant in study.experiment.variants.values()}) == 1, name
        for variant in study.experiment.variants.values():
            if study.implementations[variant.implementation].runtime == "jvm":
                assert variant.runtime.gc is not None and variant.runtime.heap_max is not None


def test_without_its_reference_nothing_is_planned(root: Path) -> None:
    experiment = load_study(root, "tiny").experiment
    gone = (Unavailable(variant="calm", reason="no compiler"),)
    with pytest.raises(InputError, match="reference calm cannot run here.*no compiler"):
        plan_without(experiment, "smoke", gone, host="local", seed=1, launcher="process")


def test_a_duet_of_services_with_a_database_is_refused() -> None:
    study = load_study(ROOT, "bank-rematch")
    check_variants(study.experiment, study.implementations, Path("bank.toml"))
    duet = study.experiment.model_copy(update={"design": "duet"})
    with pytest.raises(InputError, match="would share a backing service") as problem:
        check_variants(duet, study.implementations, Path("bank.toml"))
    assert "\n" not in str(problem.value) and "postgresql" in str(problem.value)


def declaring(root: Path, declared: str) -> str:
    """Append a comparison to the tiny experiment and return its name."""
    path = root / "harness/experiments/tiny.toml"
    path.write_text(f"{path.read_text()}\n[[compare]]\n{declared}\n")
    return "tiny"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ('metrics = { a = "throughput_per_s" }\npairs = { calm = "clam" }', ["compare[0]", "unknown variant 'clam'", "calm"]),
        ('metrics = { a = "throughput_per_s" }\nagainst = "clam"', ["compare[0]", "unknown variant 'clam'"]),
        ('metrics = { a = "throughput_per_s" }\nby = ["cores"]', ["compare[0]", "unknown factor 'cores'"]),
        ('metrics = { a = "throughput_per_s" }\nalong = "cores"', ["along and base belong together"]),
        ('metrics = { a = "throughput_per_s" }\nagainst = "calm"\npairs = { other = "calm" }', ["exclude each other"]),
        ("metrics = {}", ["compare.0.metrics", "at least 1"]),
        ('metric = "throughput_per_s"', ["metric", "did you mean 'metrics'"]),
    ],
)  # fmt: skip
def test_a_comparison_names_what_the_experiment_has(root: Path, declared: str, words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        load_study(root, declaring(root, declared))
    assert all(word in str(problem.value) for word in words), str(problem.value)


def test_what_is_compared_is_no_part_of_what_is_measured(root: Path) -> None:
    before = load_study(root, "tiny").definition_sha256
    study = load_study(root, declaring(root, 'metrics = { rate = "throughput_per_s" }\nagainst = "other"'))
    assert study.experiment.compare[0].metrics == {"rate": "throughput_per_s"}
    assert study.definition_sha256 == before

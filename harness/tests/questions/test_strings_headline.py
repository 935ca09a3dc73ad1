# SPDX-License-Identifier: Apache-2.0
"""Beside the headline stand who made the load, how much CPU that took, and how warm the services were."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.load.within_load import quarter_rates
from harness.analysis.stats.comparisons import compare
from harness.analysis.tables.runtime_columns import compiled_s
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.load_course import FIRST, load_course
from harness.evidence.opening import open_evidence
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import Publisher, read_values
from harness.questions.strings.headline import cell_in_words, headline
from harness.store import Store
from harness.tests.support.kept_sessions import lay_project, lay_session
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.synthetic import ROOT, make_project

MAIN = {"logging": "off", "warm_up": "calls-1000"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """The session of the headline that comes with the project."""
    root = make_project(tmp_path_factory.mktemp("headline"), profile="smoke", experiments=())
    shutil.copytree(ROOT / "data/raw/bundled/strings-rounds", root / "data/raw/bundled/strings-rounds")
    lay_tables(root, "strings-rounds")
    settings = StageParameters(profile="sample", experiments="strings-rounds")
    tidy_all(settings, root=root)
    return open_evidence(settings, "strings-rounds", root=root)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose made-up sessions have neither samples of a generator nor metrics of a JVM."""
    root = lay_project(tmp_path_factory.mktemp("made-up"), experiments=("strings-rounds", "strings-startup"))
    lay_session(root, "forms", "quick")
    tidy_all(StageParameters(experiments="strings-rounds,strings-startup,forms"), root=root)
    return root


def requests_of(n: int, per_s: list[float]) -> pd.DataFrame:
    """One user who asks ``n`` requests in each quarter, at these rates."""
    latency = [1 / rate for rate in per_s for _ in range(n)]
    start = pd.Series(latency).cumsum().shift(fill_value=0.0)
    return pd.DataFrame({"start_epoch_s": start, "latency_s": latency, "ok": True})


def test_each_quarter_of_the_requests_has_its_own_rate() -> None:
    assert quarter_rates(requests_of(100, [10, 20, 40, 50])) == pytest.approx((10, 20, 40, 50))
    failing = requests_of(100, [10, 20, 40, 50]).assign(ok=[True] * 300 + [False] * 100)
    assert quarter_rates(failing)[3] == 0.0
    with pytest.raises(InputError, match="too few requests"):
        quarter_rates(requests_of(1, [1, 1, 1, 1]))


def test_a_jvm_records_how_long_it_compiled_during_the_load_and_go_has_nothing_to_compile() -> None:
    (session,) = Store(ROOT).sessions("strings-rounds", bundled=True)
    for trial in session.header.plan.trials[:6]:
        found = compiled_s(session, session.record(trial.trial_id))
        if trial.configuration.variant_name.startswith("java"):
            assert found is not None and found > 0
        else:
            assert found is None


def test_the_sentences_name_generator_cpu_and_compiling_with_the_numbers_of_the_records(
    recorded: Evidence,
) -> None:
    Publisher("30-strings", root=recorded.root, publish=True).put("headline", headline(recorded, MAIN))
    values = read_values(recorded.root)
    said = {key: values[f"headline.{key}"]["text"] for key in ("cell", "load", "generator", "warm_up")}
    assert said["cell"] == "no log line per request, 1,000 warm-up requests"
    assert said["load"].startswith("Load: JMeter 5.6.3 (closed: 100 users, 100 requests each, ramp 1 s).")
    assert re.search(r"It used [\d.]+ to [\d.]+ of them, the service [\d.]+ to [\d.]+ \(", said["generator"])
    assert (
        values["headline.generator_cores.go_nethttp"]["value"]
        > values["headline.service_cores.go_nethttp"]["value"]
    )
    assert "used more CPU than the service for:" in said["generator"] and "Go net/http" in said["generator"]
    assert "depends on the generator as well as" in said["generator"]
    least, most = re.search(r"worked for (\d+) % to (\d+) % of the measurement", said["warm_up"]).groups()  # type: ignore[union-attr]  # None fails, too
    assert int(least) <= 100 * values["headline.compiling_share.java_helidon"]["value"] <= int(most)
    low, high = re.search(r"were ([\d.]+) to ([\d.]+) in the first quarter", said["warm_up"]).groups()  # type: ignore[union-attr]  # None fails, too
    course = load_course(recorded, recorded.cell(**MAIN))
    helidon = compare(course, FIRST, reference=recorded.reference)
    (ratio,) = (one.ratio.value for one in helidon if one.variant == "java-helidon")
    assert ratio is not None and float(low) <= ratio <= float(high)
    # a ratio of young processes stands in a sentence that says so, and nowhere else
    assert not [key for key in values if "_quarter" in key]
    assert said["warm_up"].endswith(
        "These are numbers of young processes, and no statement about services that have warmed up."
    )


def test_what_was_not_recorded_is_said_to_be_so_and_claims_nothing_of_warm_services(made_up: Path) -> None:
    evidence = open_evidence(StageParameters(experiments="strings-rounds"), "strings-rounds", root=made_up)
    said = headline(evidence, MAIN)["warm_up"]
    assert isinstance(said, str)
    assert "Whether the JVMs were still compiling was not recorded." in said
    assert said.endswith(
        "These are numbers of young processes, and no statement about services that have warmed up."
    )


def test_a_cell_is_said_in_words(recorded: Evidence) -> None:
    experiment = recorded.header.experiment
    assert cell_in_words(experiment, {"logging": "on", "warm_up": "none"}) == (
        "one log line per request, no warm-up requests"
    )
    assert cell_in_words(experiment, {"payload": "128"}) == "payload 128"

# SPDX-License-Identifier: Apache-2.0
"""JMeter, for real; every test that starts it costs some seconds, so there are few."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.tools.jmeter import GC_LOG, SAMPLES, JMeter
from harness.model import ClosedLoad
from harness.project import find_root
from harness.tests.contracts.flow import FlowContract, OpenFlowContract
from harness.tests.contracts.load_generator import (
    JsonValuesContract,
    LoadGeneratorContract,
    OpenLoopContract,
    offer,
)
from harness.tests.support.answering_server import answering_server, order_of
from harness.tests.support.tools_here import QUICK_JVM
from harness.toolchains import Surroundings, find_jdks, find_jmeter


def real_jmeter() -> JMeter:
    around = Surroundings(project=find_root(Path(__file__).parent))
    return JMeter(
        home=find_jmeter(around).require().parent.parent,
        java=find_jdks(around)[0].java,
        heap="256m",
        last_answers_s=4,  # on a busy machine the first answers of a cold JMeter come seconds late
    )


@pytest.fixture(autouse=True)
def _quick_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs: what C2 would compile is not used long enough."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JVM)


class TestJMeter(LoadGeneratorContract, JsonValuesContract, OpenLoopContract, FlowContract, OpenFlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return real_jmeter()


def test_think_time_is_kept_and_no_row_says_more_than_is_read(tmp_path: Path) -> None:
    with answering_server() as server:
        profile = ClosedLoad(users=2, loops=3, ramp_up_s=1, think_time_s=0.3)
        assert offer(real_jmeter(), order_of(tmp_path, profile, endpoint=server.endpoint)).exit_code == 0
    summary = real_jmeter().read(tmp_path)
    assert summary.n_errors == 0
    assert summary.duration_s >= 0.6  # two pauses between the three requests of a user
    header, first = (tmp_path / SAMPLES).read_text(encoding="utf-8").splitlines()[:2]
    assert header == "timeStamp,elapsed,label,responseCode,success,failureMessage,Connect"
    assert len(first) < 50
    assert "Safepoint" in (tmp_path / GC_LOG).read_text(encoding="utf-8")

# SPDX-License-Identifier: Apache-2.0
"""The fake load generator keeps the contract of the real ones, so tests may rely on it."""

from __future__ import annotations

import pytest

from harness.loadgen.base import LoadGenerator
from harness.tests.contracts.flow import FlowContract, OpenFlowContract
from harness.tests.contracts.load_generator import LoadGeneratorContract, OpenLoopContract
from harness.tests.support.fakes import FakeLoadGenerator


class TestFake(LoadGeneratorContract, OpenLoopContract, FlowContract, OpenFlowContract):
    @pytest.fixture
    def generator(self) -> LoadGenerator:
        return FakeLoadGenerator()

# SPDX-License-Identifier: Apache-2.0
"""Locust, for real."""

from __future__ import annotations

import pytest

from harness.loadgen.base import LoadGenerator
from harness.loadgen.locust import Locust
from harness.tests.contracts.load_generator import LoadGeneratorContract


class TestLocust(LoadGeneratorContract):
    @pytest.fixture(scope="class")
    def generator(self) -> LoadGenerator:
        return Locust()

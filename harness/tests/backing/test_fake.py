# SPDX-License-Identifier: Apache-2.0
"""The fake database keeps the contract that PostgreSQL keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from harness.hosts.local import LocalHost
from harness.tests.contracts.backing import BackingContract, Database
from harness.tests.support.fake_backing import FakeDatabase, ask


class Fake:
    def __init__(self) -> None:
        self.source = FakeDatabase(LocalHost())

    def add(self, environment: Mapping[str, str], amount: int) -> None:
        ask(environment, "add", amount)

    def sum(self, environment: Mapping[str, str]) -> int:
        return ask(environment, "sum")


class TestFakeDatabase(BackingContract):
    @pytest.fixture
    def database(self) -> Iterator[Database]:
        fake = Fake()
        yield fake
        fake.source.close()

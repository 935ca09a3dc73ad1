# SPDX-License-Identifier: Apache-2.0
"""A host over SSH keeps the contract of hosts, and is refused where it is not the one that is known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.hosts import Host
from harness.remote import SshHost
from harness.tests.contracts.host import HostContract
from harness.tests.sshd import Sshd


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    started = Sshd(tmp_path_factory.mktemp("sshd"))
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def far(sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    host = SshHost("bighost", sshd.settings(tmp_path_factory.mktemp("base")))
    yield host
    host.close()


class TestSshHost(HostContract):
    @pytest.fixture
    def host(self, far: SshHost) -> Host:
        return far

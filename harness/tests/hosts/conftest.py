# SPDX-License-Identifier: Apache-2.0
"""A host behind a real sshd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.places.hosts.ssh.host import SshHost
from harness.places.hosts.ssh.settings import HostSettings
from harness.tests.support.available import patient
from harness.tests.support.sshd import Sshd


@pytest.fixture(scope="module")
def settings(sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> HostSettings:
    return sshd.settings(tmp_path_factory.mktemp("base"), grace_s=patient(20))


@pytest.fixture(scope="module")
def far(settings: HostSettings) -> Iterator[SshHost]:
    host = SshHost("bighost", settings)
    yield host
    host.close()

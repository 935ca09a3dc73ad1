# SPDX-License-Identifier: Apache-2.0
"""Hosts over SSH: the near side of the agent. ``hosts`` says what a host is; ``session`` alone chooses one."""

from harness.hosts.ssh.host import SshHost
from harness.hosts.ssh.settings import HostSettings, host_names, load_settings

__all__ = ["HostSettings", "SshHost", "host_names", "load_settings"]

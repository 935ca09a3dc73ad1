# SPDX-License-Identifier: Apache-2.0
"""Hosts over SSH: the near side of the agent. ``hosts`` says what a host is; ``session`` alone chooses one."""

from harness.remote.host import SshHost
from harness.remote.settings import HostSettings, host_names, load_settings

__all__ = ["HostSettings", "SshHost", "host_names", "load_settings"]

# SPDX-License-Identifier: Apache-2.0
"""Hosts over SSH: the near side of the agent. ``hosts`` says what a host is; ``session`` alone chooses one.

``settings`` is plain; ``host`` loads paramiko, which only a session with a remote host needs.
"""

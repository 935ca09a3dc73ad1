# SPDX-License-Identifier: Apache-2.0
"""The agent: what works on a far host on the harness' behalf.

Standard library only, Python >= 3.8. ``harness.hosts.ssh.agent_zip`` packs this package, and the modules
that this machine's host is made of as well, into one file that is sent over; nothing is installed there.
"""

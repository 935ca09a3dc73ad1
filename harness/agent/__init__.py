# SPDX-License-Identifier: Apache-2.0
"""The agent: all that runs on a measured machine, for the harness on this one or over SSH.

Standard library only, Python >= 3.8. ``harness.places.hosts.ssh.agent`` packs this package, and the modules
that this machine's host is made of as well, into one file that is sent over; nothing is installed there.
"""

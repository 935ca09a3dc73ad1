# SPDX-License-Identifier: Apache-2.0
"""Readers of files that load generators and runtimes write. Pure: no process, no clock."""

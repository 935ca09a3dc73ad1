# SPDX-License-Identifier: Apache-2.0
"""Where a service runs: hosts, launchers, databases beside it, samplers, and what a machine is good for."""

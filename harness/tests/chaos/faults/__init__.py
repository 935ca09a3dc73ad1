# SPDX-License-Identifier: Apache-2.0
"""What disturbs a session: signals, full disks, cut links, wrong clocks, power loss."""

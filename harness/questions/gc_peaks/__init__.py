# SPDX-License-Identifier: Apache-2.0
"""Which share of the latency tail do garbage collections explain?"""

# SPDX-License-Identifier: Apache-2.0
"""Stalls, pauses and causes of latency."""

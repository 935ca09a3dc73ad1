# SPDX-License-Identifier: Apache-2.0
"""Faults at random moments of real sessions: nothing finished may be lost, nothing may run on."""

# SPDX-License-Identifier: Apache-2.0
"""Faults in real sessions, changed and hostile files, and long sessions: what the harness survives."""

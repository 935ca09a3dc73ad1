# SPDX-License-Identifier: Apache-2.0
"""Rematch: are Java microservices as fast as Go ones, and what do they cost?

Notebooks import ``harness.notebook`` and the face of their question below ``harness.questions``.
"""

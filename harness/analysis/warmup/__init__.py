# SPDX-License-Identifier: Apache-2.0
"""Warm-up: change points, curves and classes of steady state."""

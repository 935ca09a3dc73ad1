# SPDX-License-Identifier: Apache-2.0
"""Simulations with known truth: they show that the statistics say what they claim to say."""

# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the harness itself, as ratios within one run; ``make bench`` runs them."""

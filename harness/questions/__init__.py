# SPDX-License-Identifier: Apache-2.0
"""One folder a question of the paper: its analysis, its results, its figures."""

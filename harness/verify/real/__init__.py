# SPDX-License-Identifier: Apache-2.0
"""Rows of ``rematch verify`` that stop real processes."""

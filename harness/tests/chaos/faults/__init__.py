# SPDX-License-Identifier: Apache-2.0
"""Faults that sessions with real services must survive, and what must hold after each of them."""

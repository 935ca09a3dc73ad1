# SPDX-License-Identifier: Apache-2.0
"""The ledger of claims, the workshop, and methods that one question alone needs."""

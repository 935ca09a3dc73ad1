# SPDX-License-Identifier: Apache-2.0
"""Estimators and tests over trials."""

# SPDX-License-Identifier: Apache-2.0
"""The published comparison of string services, measured again."""

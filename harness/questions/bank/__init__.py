# SPDX-License-Identifier: Apache-2.0
"""Do Java services of the bank bear the load that Go ones bear?"""

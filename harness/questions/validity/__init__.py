# SPDX-License-Identifier: Apache-2.0
"""Can the measurements be trusted?"""

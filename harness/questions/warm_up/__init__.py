# SPDX-License-Identifier: Apache-2.0
"""When do services reach a steady state?"""

# SPDX-License-Identifier: Apache-2.0
"""Checks of a session: were the trials sound, enough, and free of drift?"""

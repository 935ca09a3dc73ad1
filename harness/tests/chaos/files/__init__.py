# SPDX-License-Identifier: Apache-2.0
"""Every reader with recordings, and what changes them."""

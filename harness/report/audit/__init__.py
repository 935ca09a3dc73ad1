# SPDX-License-Identifier: Apache-2.0
"""``rematch audit``: whether the numbers of a load test can all be true at once."""

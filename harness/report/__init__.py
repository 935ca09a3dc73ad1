# SPDX-License-Identifier: Apache-2.0
"""``rematch report``: result files of any load test, analysed and printed."""

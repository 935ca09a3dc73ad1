# SPDX-License-Identifier: Apache-2.0
"""Time to first response, and memory."""

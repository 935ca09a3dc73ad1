# SPDX-License-Identifier: Apache-2.0
"""``rematch try URL``: what one minute of load says of a running service."""

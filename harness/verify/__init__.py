# SPDX-License-Identifier: Apache-2.0
"""``rematch verify``: every row of it, simulated in ``analysis`` or made for real here, and the page they fill."""

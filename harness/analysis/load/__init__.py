# SPDX-License-Identifier: Apache-2.0
"""What a load was: open or closed, its segments, overload and recovery, coordinated omission."""

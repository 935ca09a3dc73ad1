# SPDX-License-Identifier: Apache-2.0
"""Two arms of runs that any load tool made, against each other: the run is the unit."""

# SPDX-License-Identifier: Apache-2.0
"""From a plan to records: sessions and the trials of the runner."""

# SPDX-License-Identifier: Apache-2.0
"""What the trials say: tables, estimates, comparisons. Sees the store and the model, never the measuring side."""

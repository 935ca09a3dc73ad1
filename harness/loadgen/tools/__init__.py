# SPDX-License-Identifier: Apache-2.0
"""One folder a load tool: its adapter, its plan and its templates."""

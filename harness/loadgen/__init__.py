# SPDX-License-Identifier: Apache-2.0
"""What all load tools share; each tool has a folder in ``tools``."""

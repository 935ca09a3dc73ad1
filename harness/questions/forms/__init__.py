# SPDX-License-Identifier: Apache-2.0
"""What do an AOT cache, a trimmed runtime and a native image change?"""

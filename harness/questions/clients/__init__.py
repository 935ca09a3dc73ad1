# SPDX-License-Identifier: Apache-2.0
"""Connection reuse and memory of clients of an upstream API."""

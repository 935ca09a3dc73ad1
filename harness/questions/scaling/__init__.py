# SPDX-License-Identifier: Apache-2.0
"""How do throughput and latency scale with cores?"""

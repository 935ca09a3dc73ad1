# SPDX-License-Identifier: Apache-2.0
"""Sessions of thousands of tiny trials: what a session holds must not grow with the number of its trials."""

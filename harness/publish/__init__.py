# SPDX-License-Identifier: Apache-2.0
"""Values, tables and figures on their way from a notebook to the paper.

A notebook's ``Publisher`` writes into ``paper/generated/``, which is all the paper reads. ``rematch trace`` follows a
number back.
"""

# SPDX-License-Identifier: Apache-2.0
"""From raw records to tables: one row a trial, requests, samples."""

# SPDX-License-Identifier: Apache-2.0
"""Hosts: where commands run. ``base`` says what a host is, ``local`` is this machine, ``ssh`` one over SSH."""

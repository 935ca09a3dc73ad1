# SPDX-License-Identifier: Apache-2.0
"""Parts of a machine that tests make: an sshd, a link that can be cut, a small disk."""

# SPDX-License-Identifier: Apache-2.0
"""Does it matter whether a service runs as a process or in a container, here or on a remote host?"""

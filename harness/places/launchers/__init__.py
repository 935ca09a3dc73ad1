# SPDX-License-Identifier: Apache-2.0
"""How a variant is started: as a process or in a container; builds, forms and images."""

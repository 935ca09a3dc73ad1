# SPDX-License-Identifier: Apache-2.0
"""What memory a variant gets where that is measured before the first trial (docs/memory.md).

``fit`` searches the heaps that an experiment asks for, and matches limits with what others hold.
``probe`` loads one instance in a trial that is thrown away.
"""

# SPDX-License-Identifier: Apache-2.0
"""What memory a variant gets where that is measured before the first trial (docs/memory.md).

``wanted`` says what is to be found, ``fit`` finds it. ``least_heap`` searches heaps, ``limits`` matches limits.
``attempts`` tries one variant under what ``order`` says: ``probe`` and ``pacing`` ask it from within the harness, a
trial that is thrown away asks it with the load's own generator.
"""

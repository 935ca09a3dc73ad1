# SPDX-License-Identifier: Apache-2.0
"""What memory a variant gets where that is measured before the first trial (docs/memory.md).

``fit`` measures what an experiment asks for: ``least_heap`` searches heaps, limits are matched with what others hold.
``probe`` asks one instance from within the harness; a trial that is thrown away asks it with the load's own generator.
"""

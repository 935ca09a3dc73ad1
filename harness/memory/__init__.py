# SPDX-License-Identifier: Apache-2.0
"""What memory a variant gets where that is measured before the first trial (docs/memory.md).

``fit`` says what is to be found and finds it, ``least_heap`` searches, ``probe`` tries one instance,
``pacing`` asks it at a rate.
"""

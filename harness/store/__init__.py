# SPDX-License-Identifier: Apache-2.0
"""The only part that knows the layout of ``data/raw``. See ``docs/data.md``.

``Store`` and ``SessionFolder`` read; ``SessionWriter`` writes: once, atomically, never again.
"""

from harness.store.archive import Archive, archive_of
from harness.store.layout import explained
from harness.store.packing import pack
from harness.store.reading import SessionFolder, Store
from harness.store.writing import SessionWriter, TrialFolder

# SPDX-License-Identifier: Apache-2.0
"""Names below ``data/raw`` that reading and writing share."""

from __future__ import annotations

from pathlib import Path

RAW = Path("data") / "raw"
BUNDLED = "bundled"
HEADER = "session.json"
BUILDS = "builds.json"
ECHO = "echo.json"
CALIBRATION = "calibration.json"
MEMORY = "memory.json"
EVENTS = "events.jsonl"
RECORD = "record.json"
#: In a session that was unpacked with another zlib: files with other bytes of gzip than their records name.
RECOMPRESSED = "recompressed.json"
LOCK = ".lock"
PARTIAL = ".partial-"
INTERRUPTED = ".interrupted"

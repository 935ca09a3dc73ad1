# SPDX-License-Identifier: Apache-2.0
"""The reader of a pipe counts every line that was written, whenever it is stopped. Killed: ``whole/test_request_logs.py``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from harness.measure.runner.request_log import PROGRAM
from harness.tests.support.instances import eventually


def test_what_is_in_the_pipe_when_it_is_stopped_is_read(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-S", str(PROGRAM), "pipe", "counted", "last"]
    with subprocess.Popen(words, cwd=tmp_path) as reader:
        try:
            assert eventually((tmp_path / "counted").exists)
            reader.send_signal(signal.SIGSTOP)
            (tmp_path / "pipe").write_bytes(b"line\n" * 5_000)
            reader.send_signal(signal.SIGTERM)
            reader.send_signal(signal.SIGCONT)
            assert reader.wait() == 0
        finally:
            reader.kill()
    assert json.loads((tmp_path / "counted").read_text()) == {"lines": 5_000, "bytes": 25_000}

# SPDX-License-Identifier: Apache-2.0
"""Run a command and say how long it took and how much memory it had at most. Standard library only.

A process of its own on purpose: a child begins with the peak memory of whoever started it, and this
program is small where the one that wants to know is not.

    python stopwatch.py NOTE COMMAND... writes {"wall_s", "cpu_s", "peak_rss_bytes", "exit_code"} to NOTE
"""

import json
import os
import subprocess
import sys
import time


def main() -> int:
    note, *command = sys.argv[1:]
    began = time.monotonic()
    child = subprocess.Popen(command)
    _, status, used = os.wait4(child.pid, 0)
    wall_s = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    measured = {
        "wall_s": wall_s,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_rss_bytes": used.ru_maxrss * 1024,
        "exit_code": child.returncode,
    }
    with open(note, "w", encoding="utf-8") as stream:
        json.dump(measured, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""``python -m harness.questions.workshop slides|check``: write the slides, or say whether this computer is ready."""

from __future__ import annotations

import sys
from time import monotonic

from harness.errors import RematchError
from harness.model.digits import plain
from harness.project import find_root
from harness.questions.workshop.notebooks import workshop_code
from harness.questions.workshop.slides import write_slides

USAGE = "python -m harness.questions.workshop slides|check"


def main(arguments: list[str]) -> int:
    """Run one of the commands and return the exit status."""
    if arguments not in (["slides"], ["check"]):
        print(f"allowed: {USAGE}", file=sys.stderr)
        return 2
    root, begun = find_root(), monotonic()
    try:
        if arguments != ["check"]:
            for path in write_slides(root):
                print(f"wrote {path}", flush=True)
        else:
            print("Reading the sessions; the first time takes about a minute.", flush=True)
            print(f"ready for the workshop: code {workshop_code(root)} ({plain(monotonic() - begun)} s)")
    except RematchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

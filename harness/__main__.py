# SPDX-License-Identifier: Apache-2.0
"""``python -m harness``: the same as the console script ``rematch``."""

from harness.cli import main

if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The command line: ``rematch``, or ``python -m harness``.

Exit codes: 0 fine; 1 what was asked did not hold; 2 bad input or a machine that is not fit for it;
128 + n when signal n ended it.
"""

from harness.agent.platforms import refuse_windows

refuse_windows()

from harness.cli.app import app, main  # noqa: E402  -- it imports what Windows lacks

__all__ = ["app", "main"]

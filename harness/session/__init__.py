# SPDX-License-Identifier: Apache-2.0
"""Sessions: an experiment measured trial by trial, resumable, with progress."""

from harness.session.availability import remarks
from harness.session.dry_run import expected_s, session_s, within_minutes
from harness.session.measuring import measure
from harness.session.planning import Prepared, prepare, with_blocks, with_free_seed
from harness.session.progress import (
    PlainProgress,
    Progress,
    ProgressState,
    Silent,
    suitable_progress,
)
from harness.session.signals import Interrupted
from harness.session.wiring import Assembly, assemble, launcher_name

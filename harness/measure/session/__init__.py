# SPDX-License-Identifier: Apache-2.0
"""Sessions: an experiment measured trial by trial, resumable, with progress."""

from harness.measure.session.availability import remarks
from harness.measure.session.dry_run import expected_s, session_s
from harness.measure.session.measuring import measure
from harness.measure.session.planning import Prepared, prepare, with_blocks, with_free_seed
from harness.measure.session.progress import (
    PlainProgress,
    Progress,
    ProgressState,
    Silent,
    suitable_progress,
)
from harness.measure.session.signals import Interrupted
from harness.measure.session.wiring import Assembly, assemble, launcher_name

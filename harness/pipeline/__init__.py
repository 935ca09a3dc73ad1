# SPDX-License-Identifier: Apache-2.0
"""From nothing to the paper in stages: ``make_plan`` says what is stale and why, ``run`` executes it in one table. What
the notebooks before and after the analyses do is imported from here."""

from harness.analysis.evidence.parameters import RunAllParameters, StageParameters, check_parameters
from harness.pipeline.execute import StageFailed, run
from harness.pipeline.plan import make_plan
from harness.pipeline.stage import analysis_notebooks
from harness.pipeline.steps import check_machine, chosen_profile, measure_all, tidy_all
from harness.publish.session_facts import describe_session, paper_values, setup_tables

__all__ = [
    "RunAllParameters", "StageFailed", "StageParameters",
    "analysis_notebooks", "check_machine", "check_parameters", "chosen_profile",
    "describe_session", "make_plan", "measure_all", "paper_values", "run", "setup_tables", "tidy_all",
]  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""From a plan to what is to be measured of memory before its first trial."""

from __future__ import annotations

from collections.abc import Callable

from harness.memory_sizing.spec import FitSpec
from harness.runner import Limits
from harness.session.planning import Prepared, first_configuration, planned_variants
from harness.session.wiring import Assembly
from harness.workloads import load_cases


def fit_order(
    assembly: Assembly, prepared: Prepared, *, limits: Limits, say: Callable[[str], None]
) -> FitSpec:
    """Return what is asked of programs: the load, mix and warm-up of the reference's first configuration.

    Raises:
        MissingTool: the load generator is not there.
    """
    experiment, configuration = prepared.experiment, first_configuration(prepared)
    contract = prepared.study.contract(assembly.root)
    assert configuration.load is not None  # no definition leaves memory to be measured without one
    return FitSpec(
        experiment=experiment,
        names=planned_variants(prepared),
        implementations=prepared.study.implementations,
        build=assembly.launcher.build,
        configuration=configuration,
        load=configuration.load,
        generator=assembly.generator(configuration.load.generator),
        settle_s=experiment.profiles[prepared.plan.profile].settle_s,
        requests=prepared.study.requests[configuration.mix],
        cases=load_cases(contract),
        contract=contract,
        folder=assembly.root / ".cache" / "memory" / prepared.session_id / "probe",
        seed=prepared.plan.seed,
        limits=limits,
        say=say,
    )

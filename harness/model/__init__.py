# SPDX-License-Identifier: Apache-2.0
"""The words of the project as frozen, strict types. No I/O, no clock, no randomness but a passed seed."""

from harness.model.base import Frozen
from harness.model.estimate import Estimate, Support, Verdict, support_of
from harness.model.implementation import Implementation, JavaForms, PreparedImage, Toolchain
from harness.model.load import (
    CapacityGoals,
    CapacitySearch,
    Captures,
    ClosedLoad,
    Expectation,
    Load,
    LoadProfile,
    OpenLoad,
    Request,
    SearchTrial,
)
from harness.model.load_tools import LOAD_TOOLS, GeneratorName, LoadTool
from harness.model.plan import Configuration, Plan, PlannedTrial, configurations, make_plan
from harness.model.runtime import RuntimeSettings
from harness.model.scaled_load import Calibration, CalibrationSpec, ScaledLoad
from harness.model.session import (
    BuildRecord,
    CpuProfile,
    EchoReading,
    FormBuild,
    HeapProbe,
    HeldMemory,
    LeastHeap,
    LimitProbe,
    Machine,
    MatchedLimit,
    MemoryFit,
    Provenance,
    Registration,
    SessionHeader,
    Unavailable,
)
from harness.model.started import (
    BackingName,
    BackingRecord,
    BackingSettings,
    ClockReading,
    ContainerRecord,
    CpuSpeed,
    Endpoint,
    GroupReading,
    HostClock,
    InstanceRecord,
    KubernetesRecord,
    LimitsRecord,
    MachineWindow,
    PodRecord,
    ResourceReading,
    RuntimeCpus,
)
from harness.model.study import (
    Experiment,
    Level,
    ProfileDefinition,
    ProfileName,
    Variant,
)
from harness.model.trial import (
    BOUND_WORDS,
    AnswerCount,
    Bound,
    Boundary,
    BoundBy,
    ConformanceResult,
    DuetRecord,
    Flag,
    GeneratorRecord,
    InvariantReading,
    LoadSummary,
    Outcome,
    Phase,
    RequestLogRecord,
    StartUp,
    StoredFile,
    StoredReading,
    TrialRecord,
)
from harness.model.warm_up import EarlierLoad, WarmUpRecord, WarmUpSpec, WarmUpWindow

# SPDX-License-Identifier: Apache-2.0
"""The words of the project as frozen, strict types. No I/O, no clock, no randomness but a passed seed."""

from harness.model.backing import BackingName, BackingSettings
from harness.model.base import Frozen
from harness.model.bound import BOUND_WORDS, Bound, BoundBy
from harness.model.capacity_search import CapacityGoals, CapacitySearch, SearchTrial
from harness.model.estimate import Estimate, Support, Verdict, support_of
from harness.model.implementation import Implementation, JavaForms, PreparedImage, Toolchain
from harness.model.load import ClosedLoad, Load, LoadProfile, OpenLoad
from harness.model.load_summary import AnswerCount, LoadSummary
from harness.model.load_tools import LOAD_TOOLS, GeneratorName, LoadTool
from harness.model.memory import HeapProbe, HeldMemory, LeastHeap, LimitProbe, MatchedLimit, MemoryFit
from harness.model.plan import Configuration, DuetSeat, Plan, PlannedTrial, configurations, make_plan
from harness.model.readings import (
    ClockReading,
    GroupReading,
    HostClock,
    MachineWindow,
    ResourceReading,
)
from harness.model.request import Captures, Expectation, Request
from harness.model.request_log import RequestLogRecord
from harness.model.runtime import RuntimeSettings
from harness.model.scaled_load import (
    Calibration,
    CalibrationSpec,
    ClosedShare,
    OpenShare,
    ScaledLoad,
)
from harness.model.session import (
    BuildRecord,
    CpuProfile,
    EchoReading,
    FormBuild,
    Machine,
    Provenance,
    Registration,
    SessionHeader,
    Unavailable,
)
from harness.model.started import (
    BackingRecord,
    ContainerRecord,
    InstanceRecord,
    KubernetesRecord,
    LimitsRecord,
    PodRecord,
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
    SCHEMA_VERSION,
    Boundary,
    ConformanceResult,
    CoordinatorRecord,
    DuetRecord,
    Flag,
    GeneratorRecord,
    InvariantReading,
    Outcome,
    Phase,
    StartUp,
    StoredFile,
    StoredReading,
    TrialRecord,
)
from harness.model.warm_up import WarmUpRecord, WarmUpSpec, WarmUpWindow

__all__ = [
    "BOUND_WORDS",
    "LOAD_TOOLS",
    "SCHEMA_VERSION",
    "AnswerCount",
    "BackingName",
    "BackingRecord",
    "BackingSettings",
    "Bound",
    "BoundBy",
    "Boundary",
    "BuildRecord",
    "Calibration",
    "CalibrationSpec",
    "CapacityGoals",
    "CapacitySearch",
    "Captures",
    "ClockReading",
    "ClosedLoad",
    "ClosedShare",
    "Configuration",
    "ConformanceResult",
    "ContainerRecord",
    "CoordinatorRecord",
    "CpuProfile",
    "DuetRecord",
    "DuetSeat",
    "EchoReading",
    "Estimate",
    "Expectation",
    "Experiment",
    "Flag",
    "FormBuild",
    "Frozen",
    "GeneratorName",
    "GeneratorRecord",
    "GroupReading",
    "HeapProbe",
    "HeldMemory",
    "HostClock",
    "Implementation",
    "InstanceRecord",
    "InvariantReading",
    "JavaForms",
    "KubernetesRecord",
    "LeastHeap",
    "Level",
    "LimitProbe",
    "LimitsRecord",
    "Load",
    "LoadProfile",
    "LoadSummary",
    "LoadTool",
    "Machine",
    "MachineWindow",
    "MatchedLimit",
    "MemoryFit",
    "OpenLoad",
    "OpenShare",
    "Outcome",
    "Phase",
    "Plan",
    "PlannedTrial",
    "PodRecord",
    "PreparedImage",
    "ProfileDefinition",
    "ProfileName",
    "Provenance",
    "Registration",
    "Request",
    "RequestLogRecord",
    "ResourceReading",
    "RuntimeCpus",
    "RuntimeSettings",
    "ScaledLoad",
    "SearchTrial",
    "SessionHeader",
    "StartUp",
    "StoredFile",
    "StoredReading",
    "Support",
    "Toolchain",
    "TrialRecord",
    "Unavailable",
    "Variant",
    "Verdict",
    "WarmUpRecord",
    "WarmUpSpec",
    "WarmUpWindow",
    "configurations",
    "make_plan",
    "support_of",
]

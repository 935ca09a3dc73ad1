# SPDX-License-Identifier: Apache-2.0
"""Warm-up under load, in windows: what is asked for, what was seen of each, and when a service is settled."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Frozen
from harness.model.load_tools import BY_NAME, LOAD_TOOLS, GeneratorName
from harness.model.started import CpuSpeed

#: ``not settled``: the longest time came first. ``ended``: the trial failed in its warm-up.
WarmClass = Literal["settled", "not settled", "ended"]


class WarmUpSpec(Frozen):
    """Load in windows, one after another, until throughput, CPU time per request and JIT compilation are settled."""

    generator: GeneratorName  # a tool that saturates a service
    users: int = Field(default=16, ge=1, le=1000)
    window_s: int = Field(default=1, ge=1, le=60)
    n_windows: int = Field(default=5, ge=2, le=60)  # so many windows are compared with as many before them
    tolerance: float = Field(default=0.03, gt=0, lt=1)  # between the medians of the two groups
    # the same where the windows themselves scatter more than that
    tolerance_noisy: float = Field(default=0.10, gt=0, lt=1)
    # of the time, spent by the JIT compilers in the later group
    compile_share: float = Field(default=0.05, gt=0, le=1)
    at_most_s: int = Field(default=90, ge=1, le=3600)
    # how often at most a load is offered again to the same process, when the JIT compilers worked for more
    # than compile_share of it, or the generator itself sent too much of it late
    repeats: int = Field(default=0, ge=0, le=5)

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        if not BY_NAME[self.generator].saturates:
            allowed = ", ".join(tool.name for tool in LOAD_TOOLS if tool.saturates)
            raise ValueError(f"generator = {self.generator!r} cannot saturate a service; allowed: {allowed}")
        if self.at_most_s < 2 * self.n_windows * self.window_s:
            raise ValueError(
                f"at_most_s = {self.at_most_s} is shorter than two groups of {self.n_windows} windows"
            )
        return self

    def compiled_too_long(self, compile_s: float, load_s: float) -> bool:
        """Whether the JIT compilers worked for more of a load than they do for a settled service; both in seconds."""
        return compile_s > self.compile_share * load_s


class WarmUpWindow(Frozen):
    """One window. CPU and compile time are those since the end of the window before it."""

    start_s: float = Field(ge=0)  # since the first window began
    duration_s: float = Field(ge=0)  # of the load, as the tool says
    n_requests: int = Field(ge=0)
    n_errors: int = Field(ge=0)
    cpu_s: float | None  # of the service
    compile_s: float | None  # of its JIT compilers; None: it has none

    @property
    def end_s(self) -> float:
        return self.start_s + self.duration_s

    @property
    def per_s(self) -> float:
        """Right answers per second."""
        return (self.n_requests - self.n_errors) / self.duration_s if self.duration_s > 0 else 0.0

    @property
    def cpu_s_per_request(self) -> float | None:
        return self.cpu_s / self.n_requests if self.cpu_s is not None and self.n_requests else None

    @property
    def compile_share(self) -> float | None:
        """Compile time as a share of the window."""
        return self.compile_s / self.duration_s if self.compile_s is not None and self.duration_s else None


class EarlierLoad(Frozen):
    """A trial's load that does not count, because a JVM compiled, the generator was late or the CPUs were slowed.

    It was offered again.
    """

    folder: str  # of the trial's folder: what its generator wrote
    duration_s: float = Field(ge=0)  # as the tool says
    n_requests: int = Field(ge=0)
    n_errors: int = Field(ge=0)
    cpu_s: float | None  # of the service
    compile_s: float | None  # of its JIT compilers, all threads together
    late_share: float | None = None  # of the requests, as of the load that counts
    cpu_speeds: tuple[CpuSpeed, ...] = ()


class WarmUpRecord(Frozen):
    """The warm-up of one process, from the first request of its first window."""

    spec: WarmUpSpec
    windows: tuple[WarmUpWindow, ...]
    end: WarmClass
    unsettled: tuple[str, ...] = ()  # what had not settled at the end
    n_requests_before: int | None = None  # that were answered before: polls until it was ready


def unsettled(windows: Sequence[WarmUpWindow], spec: WarmUpSpec) -> tuple[str, ...]:
    """Return what is not settled yet, in words; empty: all is.

    Of two groups of ``spec.n_windows`` windows, the last and those before them, the medians of throughput and of CPU
    time per request differ by no more than ``spec.tolerance``, or by no more than two standard errors of the difference
    and ``spec.tolerance_noisy``; and compilers worked for no more than ``spec.compile_share`` of the later one. A
    quantity that cannot be read is left out. The standard error is that of medians of normal scatter, from the median
    absolute deviation within each group: a trend moves the medians by more than it scatters the groups.
    """
    n = spec.n_windows
    if len(windows) < 2 * n:
        return (f"{len(windows)} of {2 * n} windows",)
    earlier, later = windows[-2 * n : -n], windows[-n:]
    result: list[str] = []
    for name, value in _COMPARED.items():
        groups = [_known(value, group) for group in (earlier, later)]
        if not all(groups):
            continue
        before, after = (statistics.median(group) for group in groups)
        if before <= 0 or abs(after / before - 1) > _allowed(groups, before, spec):
            result.append(name)
    shares = [window.compile_share for window in later if window.compile_share is not None]
    if shares and statistics.fmean(shares) > spec.compile_share:
        result.append("JIT compilation")
    return tuple(result)


_Value = Callable[[WarmUpWindow], float | None]
_COMPARED: dict[str, _Value] = {
    "throughput": lambda window: window.per_s,
    "CPU time per request": lambda window: window.cpu_s_per_request,
}


def _known(value: _Value, windows: Sequence[WarmUpWindow]) -> list[float]:
    """Return a quantity of each window; empty: it is not known of all."""
    result = [value(window) for window in windows]
    known = [item for item in result if item is not None]
    return known if len(known) == len(windows) else []


def _allowed(groups: Sequence[Sequence[float]], before: float, spec: WarmUpSpec) -> float:
    """Return by how much two groups may differ, as a share of the first one's median."""
    errors = [_MEDIAN_ERROR * _deviation(group) / len(group) ** 0.5 for group in groups]
    noise = 2 * math.hypot(*errors) / before
    return max(spec.tolerance, min(spec.tolerance_noisy, noise))


#: Of normal values: the standard deviation over the median absolute deviation, times that of a median over that of a
#: mean.
_MEDIAN_ERROR = 1.4826 * 1.2533


def _deviation(group: Sequence[float]) -> float:
    """The median absolute deviation."""
    middle = statistics.median(group)
    return statistics.median(abs(item - middle) for item in group)

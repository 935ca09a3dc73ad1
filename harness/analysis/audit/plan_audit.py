# SPDX-License-Identifier: Apache-2.0
"""Whether a load kept to its plan: arrivals, rates and shares beside what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from harness.errors import InputError
from harness.model.base import Frozen


class AuditCheck(Frozen):
    """One equation: what it expects, what was reported, and whether they agree within the tolerance."""

    name: str
    expected: float
    found: float
    holds: bool


class PlanAudit(Frozen):
    """The arithmetic of a closed plan. ``consistent`` None: nothing was reported to check."""

    expected_throughput_per_s: float
    expected_duration_s: float
    expected_concurrency: float = Field(description="Little's law: requests in flight on average")
    checks: tuple[AuditCheck, ...]
    consistent: bool | None
    warnings: tuple[str, ...] = ()


def audit_plan(
    *,
    threads: int,
    loops: int,
    mean_response_s: float,
    ramp_up_s: float = 0.0,
    think_time_s: float = 0.0,
    between_s: float | None = None,
    throughput_per_s: float | None = None,
    duration_s: float | None = None,
    n_requests: int | None = None,
    parts: Sequence[int] | None = None,
    ratios: Sequence[tuple[str, float, float, float]] = (),
    tolerance: float = 0.10,
) -> PlanAudit:
    """Check what was reported of a closed plan against what its own numbers imply.

    ``threads`` users start evenly over ``ramp_up_s`` and each sends ``loops`` requests, waiting for the
    answer and for ``think_time_s``, and then for the generator to get round to sending: the last user
    starts at R (N-1)/N and needs L (RT + think + between), so the throughput is
    N L / (R (N-1)/N + L (RT + think + between)).

    Args:
        between_s: measured mean time from an answer to the same user's next request beyond ``think_time_s``
            (``harness.analysis.audit.generator_gap``): the generator's own, which is in none of its latencies.
            ``None``: not known, as of every published table, and taken for nothing.
        throughput_per_s, duration_s, n_requests: as reported; ``None``: not reported, not checked.
        parts: counts that must add up to ``n_requests``.
        ratios: (name, numerator, denominator, reported ratio).
        tolerance: of throughput, duration and ratios, as a share; counts must agree exactly.

    Raises:
        InputError: no threads or loops, a negative time, or nothing that takes any time.
    """
    times = (mean_response_s, ramp_up_s, think_time_s, between_s or 0.0)
    if threads < 1 or loops < 1 or not all(0 <= time < float("inf") for time in times):
        raise InputError(
            "not a plan",
            found=f"threads={threads}, loops={loops}, mean_response_s={mean_response_s}, ramp_up_s={ramp_up_s}",
            allowed="at least one thread and loop, and finite times of 0 or more",
        )
    total = threads * loops
    cycle_s = mean_response_s + think_time_s + (between_s or 0.0)
    expected_duration = ramp_up_s * (threads - 1) / threads + loops * cycle_s
    if expected_duration <= 0:
        raise InputError(
            "a plan that takes no time", found="0 s", allowed="a mean response or a ramp above 0"
        )
    expected = total / expected_duration
    checks: list[AuditCheck] = []
    for name, want, found in (
        ("throughput follows from users, loops, ramp and response time", expected, throughput_per_s),
        ("duration follows from ramp, loops and response time", expected_duration, duration_s),
    ):
        if found is not None:
            checks.append(_near(name, want, found, tolerance))
    checks += _exact(total, n_requests, parts)
    if throughput_per_s is not None and duration_s is not None and n_requests is not None:
        checks.append(
            _near(
                "throughput is requests over duration", n_requests / duration_s, throughput_per_s, tolerance
            )
        )
    if throughput_per_s is not None:
        # Little's law: there are never more requests in flight than users
        flight = throughput_per_s * mean_response_s
        checks.append(
            AuditCheck(
                name="no more requests in flight than users",
                expected=float(threads),
                found=flight,
                holds=flight <= threads * (1 + tolerance),
            )
        )
    for name, top, bottom, told in ratios:
        if bottom == 0:
            raise InputError(
                "a ratio to nothing",
                place=f"ratios: {name}",
                found=f"{top:g} / 0",
                allowed="not divided by 0",
            )
        checks.append(_near(f"ratio: {name}", top / bottom, told, tolerance))
    failed = tuple(f"{c.name}: expected {c.expected:.6g}, found {c.found:.6g}" for c in checks if not c.holds)
    return PlanAudit(
        expected_throughput_per_s=expected,
        expected_duration_s=expected_duration,
        expected_concurrency=expected * mean_response_s,
        checks=tuple(checks),
        consistent=not failed if checks else None,
        warnings=failed,
    )


def _near(name: str, expected: float, found: float, tolerance: float) -> AuditCheck:
    return AuditCheck(
        name=name, expected=expected, found=found, holds=abs(found - expected) <= tolerance * abs(expected)
    )


def _exact(total: int, n_requests: int | None, parts: Sequence[int] | None) -> list[AuditCheck]:
    checks = []
    if n_requests is not None:
        name = "requests are users times loops"
        checks.append(AuditCheck(name=name, expected=total, found=n_requests, holds=n_requests == total))
    if parts is not None:
        whole, found = total if n_requests is None else n_requests, sum(parts)
        checks.append(AuditCheck(name="parts add up", expected=whole, found=found, holds=found == whole))
    return checks

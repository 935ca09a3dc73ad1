# SPDX-License-Identifier: Apache-2.0
"""Schedules beyond one rate or one number of users for some time: most tools know none, and say so."""

from __future__ import annotations

from harness.model import ClosedLoad, LoadProfile, OpenLoad


def plain_only(tool: str, profile: LoadProfile, *, waits: bool = False) -> str | None:
    """Return why a tool that offers one load once cannot offer this one, or ``None``.

    Args:
        waits: by itself it sends late what found every connection busy, and counts from when it was due.
    """
    if profile.renew_s is not None:
        return f"{tool} does not renew connections by their age: use k6 for renew_s = {profile.renew_s:g}"
    if not isinstance(profile, OpenLoad):
        return f"{tool} knows no stages of users: use k6" if profile.stages else None
    if profile.parts > 1:
        return f"{tool} offers one load and ends: use k6 for parts = {profile.parts}, or same_process"
    if profile.busy == "wait" and not waits:
        return f"{tool} makes one more connection when all are busy: use k6, oha, wrk2 or metronome for busy = wait"
    return None


def even_only(tool: str, profile: OpenLoad) -> str | None:
    """Return why a tool whose arrivals are evenly spaced cannot offer this load, or ``None``."""
    if profile.arrivals == "constant":
        return None
    return f"{tool}'s arrivals are evenly spaced: set arrivals = constant, or use jmeter or metronome for poisson"


def at_once_only(tool: str, profile: ClosedLoad) -> str | None:
    """Return why a tool whose users all begin at once and never pause cannot offer this load, or ``None``."""
    if profile.ramp_up_s:
        return f"{tool} opens all connections at once: use k6, jmeter or locust for ramp_up_s"
    if profile.think_time_s:
        return f"{tool} does not wait between requests: use k6, jmeter or locust for think_time_s"
    return None


__all__ = ["at_once_only", "even_only", "plain_only"]

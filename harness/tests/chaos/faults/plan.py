# SPDX-License-Identifier: Apache-2.0
"""The named faults: what is done, in which session, at which moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scene = Literal["strings", "bank", "remote", "soak", "remote soak"]
Act = Literal["signal", "full disk", "read-only", "open files", "port", "clock", "cut link", "power"]
SignalName = Literal["SIGKILL", "SIGTERM", "SIGSTOP"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. Shares are from 0 (with) to 1 (without).

    Args:
        target: the role that gets a signal, or the folder that is full.
        when: the moment, as a share of the time in which it may come.
        size: how much, as a share of what its kind allows.
        where: which of several places.
    """

    name: str
    scene: Scene
    act: Act
    target: str = ""
    signal: SignalName | None = None
    when: float = 0.5
    size: float = 0.5
    where: float = 0.3


FAULTS: tuple[Fault, ...] = (
    Fault(name="session killed", scene="strings", act="signal", target="session", signal="SIGKILL"),
    Fault(
        name="session stopped", scene="strings", act="signal", target="session", signal="SIGTERM", when=0.7
    ),
    Fault(name="service killed", scene="strings", act="signal", target="service", signal="SIGKILL"),
    Fault(name="generator paused", scene="strings", act="signal", target="generator", signal="SIGSTOP"),
    Fault(name="database killed", scene="bank", act="signal", target="database", signal="SIGKILL"),
    Fault(name="agent killed", scene="remote", act="signal", target="agent", signal="SIGKILL"),
    Fault(name="link cut", scene="remote", act="cut link", where=0.7),
    Fault(name="disk full", scene="strings", act="full disk", target="data"),
    Fault(name="data read-only", scene="strings", act="read-only"),
    Fault(name="few open files", scene="strings", act="open files", size=0.3),
    Fault(name="ports taken", scene="strings", act="port", size=0.2),
    Fault(name="clock stepped", scene="strings", act="clock", size=0.2),
    Fault(name="power lost", scene="strings", act="power", when=0.8),
)
BY_NAME = {fault.name: fault for fault in FAULTS}

# SPDX-License-Identifier: Apache-2.0
"""One instance of a service: launched, kept in the books, waited for until its first right answer, stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.launchers.base import Instance, LaunchOrder
from harness.model import InstanceRecord, Request, StartUp
from harness.runner.context import Parts
from harness.runner.start_up import bring_up, wait_first_response

#: In the folder of the launch.
SERVICE_STDERR = "service.stderr.txt"


@dataclass(frozen=True, kw_only=True)
class ServiceOrder:
    """What is launched, and what its first answer must be. ``role``: what it is called in the books."""

    launch: LaunchOrder
    role: str
    first: Request
    ready_s: float


def bring_up_service(
    order: ServiceOrder,
    parts: Parts,
    *,
    begun: Callable[[Instance], None],
    stop: Callable[[Instance], object],
) -> tuple[Instance, StartUp]:
    """Launch and wait for the first right answer; once more on another port when somebody took ours.

    ``begun`` is told of each process right after its launch. ``stop`` is called, once or twice, with each that is not
    returned; it must at least do what ``stop_service`` does.

    Raises:
        TrialFailure: as ``wait_first_response``.
    """

    def launch() -> Instance:
        instance = parts.launcher.launch(order.launch)
        try:
            if parts.host.here:  # over there the agent keeps the books
                parts.ledger.note(pid=instance.record.pid, role=order.role, port=instance.record.port)
            begun(instance)
        except BaseException:
            stop(instance)
            raise
        return instance

    def wait(instance: Instance) -> StartUp:
        try:
            return wait_first_response(
                instance,
                order.first,
                order.ready_s,
                host=parts.host,
                stderr=order.launch.folder / SERVICE_STDERR,
                cpu_at_launch_s=instance.cpu_at_launch_s,
            )
        except BaseException:
            stop(instance)
            raise

    return bring_up(launch, wait, lambda instance: instance.port_taken())


def stop_service(instance: Instance, parts: Parts) -> InstanceRecord:
    """Stop it and take it out of the books; a second time does no harm."""
    record = instance.stop()
    if parts.host.here:
        parts.ledger.forget(record.pid)
    return record

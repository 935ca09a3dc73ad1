# SPDX-License-Identifier: Apache-2.0
"""A service that runs as a plain process on a host."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HostError
from harness.hosts.base import Process
from harness.hosts.measuring import Station
from harness.launchers.exit_reason import STDERR, TAIL_BYTES, memory_complaint, port_complaint
from harness.launchers.limits import Enclosure
from harness.model import InstanceRecord
from harness.model.endpoint import Endpoint


class ProcessInstance:
    """A running variant; see ``Instance``. ``process`` is what a sampler watches."""

    def __init__(
        self,
        process: Process,
        record: InstanceRecord,
        folder: Path,
        grace_s: float,
        host: Station,
        around: Enclosure | None = None,
    ) -> None:
        self.process, self.host = process, host
        self._around = around
        self._record, self._folder, self._grace_s = record, folder, grace_s
        self.endpoint = Endpoint(host=host.listen_address, port=record.port)

    @property
    def record(self) -> InstanceRecord:
        return self._record

    @property
    def stderr_file(self) -> Path:
        return self._folder / STDERR

    @property
    def cpu_at_launch_s(self) -> float:
        """To be taken off readings of the process's CPU time; see ``hosts.Process``."""
        return self.process.cpu_at_launch_s

    def exited(self) -> int | None:
        return self.process.exited()

    def stop(self) -> InstanceRecord:
        around = self._around
        if around is not None:
            around.note(self._record.pid, self._record.process_start_ticks)
        stopped = self.process.stop(self._grace_s)
        if around is not None:
            around.release()
        self._record = self._record.model_copy(
            update={
                "stop_signal": stopped.signal, "exit_code": stopped.exit_code, "stop_s": stopped.stop_s,
                "limits": None if around is None else around.record,
            }
        )  # fmt: skip
        return self._record

    def out_of_memory(self) -> str | None:
        """Return why it looks as if memory ran out, or ``None``. Ask after it ended or was stopped."""
        limits = self._record.limits
        if limits is not None and limits.out_of_memory:
            return "killed by the kernel: the memory limit of its control group was reached"
        return memory_complaint(self._tail, self.exited(), self._record)

    def port_taken(self) -> bool:
        """Whether it ended because somebody else had its port."""
        return port_complaint(self._tail, self.exited())

    def _tail(self, name: str) -> str:
        try:
            return self.host.read(self._folder / name, TAIL_BYTES).decode(errors="replace")
        except HostError:
            return ""

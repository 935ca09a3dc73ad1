# SPDX-License-Identifier: Apache-2.0
"""A service that runs in a container of a host's Docker daemon."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import HostError
from harness.hosts.base import Command
from harness.hosts.measuring import Station
from harness.launchers.docker_errors import asking
from harness.launchers.exit_reason import STDERR, STDOUT, TAIL_BYTES, memory_complaint, port_complaint
from harness.model import InstanceRecord
from harness.model.endpoint import Endpoint


class ContainerInstance:
    """A running variant in its container; see ``Instance``. ``folder`` is the trial's, on ``host``."""

    #: What the container's own set-up used before the program ran is on its process's account and
    #: cannot be told apart; the daemon's part is not on it.
    cpu_at_launch_s = 0.0

    def __init__(
        self, container: Any, record: InstanceRecord, folder: Path, grace_s: float, host: Station
    ) -> None:
        self._container, self.host = container, host
        self._record, self._folder, self._grace_s = record, folder, grace_s
        self._exit_code: int | None = None
        self._removed = False
        self.endpoint = Endpoint(host=host.listen_address, port=record.port)

    @property
    def record(self) -> InstanceRecord:
        return self._record

    @property
    def stderr_file(self) -> Path:
        return self._folder / STDERR

    def exited(self) -> int | None:
        if self._exit_code is None and not self._alive():
            self._note_end()
        return self._exit_code

    def stop(self) -> InstanceRecord:
        if self._removed:
            return self._record
        begin = time.monotonic()
        around = self._record.container
        try:
            reading = self.host.group(self._record.pid, self._record.process_start_ticks)
            how = self._end()
            stop_s = time.monotonic() - begin
            if around is not None:
                killed = bool(self._state().get("OOMKilled", False))
                around = around.model_copy(update={"at_stop": reading, "out_of_memory": killed})
        finally:
            self._remove()
        self._record = self._record.model_copy(
            update={
                "stop_signal": how, "exit_code": self._exit_code, "stop_s": stop_s, "container": around,
            }
        )  # fmt: skip
        return self._record

    def out_of_memory(self) -> str | None:
        around = self._record.container
        if around is not None and around.out_of_memory:
            return "killed by the kernel: the container's memory limit was reached"
        return memory_complaint(self._tail, self._exit_code, self._record)

    def port_taken(self) -> bool:
        return port_complaint(self._tail, self.exited())

    def _end(self) -> str:
        """End the service; return what did it."""
        if self.exited() is not None:
            return "exited"
        how = "SIGTERM"
        self._kill(how)
        if not self._ended_within(self._grace_s):
            how = "SIGKILL"
            self._kill(how)
        self._note_end()
        return how

    def _remove(self) -> None:
        """Have nothing of it live on: the daemon removes it, and where none answers the kernel ends it."""
        import docker.errors

        try:
            with asking(self.host), contextlib.suppress(docker.errors.NotFound):
                self._container.remove(force=True, v=True)
            self._removed = True
        except BaseException:
            self._kill_process()
            raise

    def _kill_process(self) -> None:
        """What is then left of it the daemon has, until the next session."""
        with contextlib.suppress(HostError):  # the host is gone: its agent ends it
            if self._record.process_start_ticks and self._alive():
                words = ("sh", "-c", f"kill -KILL {self._record.pid}")
                self.host.run(Command(argv=words, folder=Path("/")), 10.0)

    def _note_end(self) -> None:
        """Wait for the daemon to have seen the end, and fetch what the service said."""
        with asking(self.host):
            self._exit_code = int(self._container.wait(timeout=30)["StatusCode"])
            outputs = {
                STDOUT: self._container.logs(stdout=True, stderr=False),
                STDERR: self._container.logs(stdout=False, stderr=True),
            }
        for name, said in outputs.items():
            with tempfile.TemporaryDirectory(prefix="rematch-said-") as ours:
                (Path(ours) / name).write_bytes(said)
                self.host.put(Path(ours) / name, self._folder / name)

    def _alive(self) -> bool:
        return self.host.start_ticks(self._record.pid) == self._record.process_start_ticks

    def _kill(self, signal: str) -> None:
        import docker.errors

        with asking(self.host), contextlib.suppress(docker.errors.APIError):  # it has just ended
            self._container.kill(signal)

    def _ended_within(self, grace_s: float) -> bool:
        deadline = time.monotonic() + grace_s
        while self._alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _state(self) -> Mapping[str, Any]:
        with asking(self.host):
            self._container.reload()
        state: Mapping[str, Any] = self._container.attrs["State"]
        return state

    def _tail(self, name: str) -> str:
        try:
            return self.host.read(self._folder / name, TAIL_BYTES).decode(errors="replace")
        except HostError:
            return ""

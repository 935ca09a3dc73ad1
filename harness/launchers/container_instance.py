# SPDX-License-Identifier: Apache-2.0
"""A service that runs in a container of a host's Docker daemon."""

from __future__ import annotations

import contextlib
import json
import secrets
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agent.docker_api import MADE, DockerReply, DockerRequest
from harness.errors import HostError, TrialFailure
from harness.hosts.base import Command
from harness.hosts.measuring import MeasuringHost
from harness.launchers.base import LaunchSpec, OnHost
from harness.launchers.cgroup import bytes_of
from harness.launchers.docker_engine import owner
from harness.launchers.docker_errors import asking
from harness.launchers.exit_reason import STDERR, STDOUT, memory_complaint
from harness.launchers.images import LABEL, OWNER, Image, project_label
from harness.model import InstanceRecord, Outcome, RuntimeSettings

if TYPE_CHECKING:
    from docker import DockerClient


class ContainerInstance(OnHost):
    """A running variant in its container; see ``Instance``. ``folder`` is the trial's, on ``host``."""

    #: What the container's own set-up used before the program ran is on its process's account and
    #: cannot be told apart; the daemon's part is not on it.
    cpu_at_launch_s = 0.0

    def __init__(
        self, container: Any, record: InstanceRecord, folder: Path, grace_s: float, host: MeasuringHost
    ) -> None:
        super().__init__(record, folder, grace_s, host)
        self._container = container
        self._exit_code: int | None = None
        self._removed = False

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
        return memory_complaint(self._tail)

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


#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"
#: A daemon that nobody listens to any more may finish what it was asked for, and is asked again until then.
SETTLED_WITHIN_S = 1.0


def create_body(
    spec: LaunchSpec,
    image: Image,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    root: Path,
    user: str,
) -> dict[str, Any]:
    """Return what the daemon is asked to make, in its own words."""
    runtime = spec.variant.runtime
    memory = memory_bytes(runtime)
    limits: dict[str, Any] = {} if memory is None else {"Memory": memory, "MemorySwap": memory}
    if runtime.cpus:
        limits["NanoCpus"] = runtime.cpus * 10**9
    if spec.cpus:
        limits["CpusetCpus"] = cpuset_of(spec)
    return {
        "Image": image.id,
        "Entrypoint": [argv[0]],
        "Cmd": list(argv[1:]),
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "Labels": {LABEL: project_label(root), OWNER: owner()},
        "User": user,
        "WorkingDir": TRIAL,
        "HostConfig": {"NetworkMode": "host", "Binds": [f"{spec.folder}:{TRIAL}:rw"], **limits},
    }


def new_name() -> str:
    """Return a name by which a container can be removed before anybody knows its id."""
    return f"rematch-{secrets.token_hex(8)}"


def make_and_start(
    host: MeasuringHost, client: DockerClient, name: str, body: Mapping[str, Any], socket: str | None
) -> tuple[DockerReply, DockerReply, DockerReply]:
    """Make, start and look at a container on its host, without a word between this machine and that one.

    However it ends but well, something of that name may be left: ``remove_named``.

    Raises:
        TrialFailure: the daemon did not start it.
        HostError: no daemon answers any more.
    """
    version = f"/v{client.api.api_version}"
    row = (
        DockerRequest(
            "POST", f"{version}/containers/create?name={name}", {"Content-Type": "application/json"},
            json.dumps(body).encode(),
        ),
        DockerRequest("POST", f"{version}/containers/{MADE}/start"),
        DockerRequest("GET", f"{version}/containers/{MADE}/json"),
    )  # fmt: skip
    with asking(host):
        replies = host.docker(row, address=socket)
    if replies[-1].status >= 400:
        text = f"the Docker daemon did not start it: {_complaint(replies[-1])}"
        raise TrialFailure(Outcome.FAILED, text)
    made, started, seen = replies
    return made, started, seen


def remove_named(host: MeasuringHost, client: DockerClient, name: str, socket: str | None) -> None:
    """Remove what has come to be of a container, and what the daemon is still making of it.

    Raises nothing where no daemon answers: the host's agent, or the next session, removes it then.
    """
    removal = DockerRequest("DELETE", f"/v{client.api.api_version}/containers/{name}?force=1&v=1")
    until = time.monotonic() + SETTLED_WITHIN_S
    while True:
        with contextlib.suppress(HostError):
            if host.docker((removal,), address=socket)[0].status == 204:
                return
        if time.monotonic() > until:
            return
        time.sleep(0.1)


def cpuset_of(spec: LaunchSpec) -> str | None:
    """Return the CPUs it may run on, as the kernel writes them; ``None``: on any."""
    return ",".join(map(str, spec.cpus)) if spec.cpus else None


def memory_bytes(runtime: RuntimeSettings) -> int | None:
    """Return the limit of its memory, or ``None``."""
    return None if runtime.memory_limit is None else bytes_of(runtime.memory_limit)


def _complaint(reply: DockerReply) -> str:
    text = reply.body.decode(errors="replace")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(text)["message"])
    return text

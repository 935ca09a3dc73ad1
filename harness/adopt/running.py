# SPDX-License-Identifier: Apache-2.0
"""A service of a study, built and running beside no load: to be asked, and always stopped."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from harness.adopt.requests.asked import Asked
from harness.agent.http_exchange import Answer, Connection, ExchangeError, request_bytes
from harness.agent.sampler import Watched
from harness.backing import BackingNeed, running
from harness.definitions import contract_of
from harness.errors import InputError, MissingTool, RematchError, TrialFailure
from harness.launchers.base import Instance, LaunchSpec
from harness.launchers.exit_reason import STDERR, STDOUT
from harness.model import BackingSettings, Implementation, Variant
from harness.model.endpoint import Endpoint
from harness.runner.start_up import first_complaint
from harness.session import Assembly
from harness.session.orphans import RunningProcesses

Part = Literal["source", "build", "artifact", "start", "needs"]
#: A build tool's own errors, which name no line of the file.
_TAIL = 4000


class DoesNotStart(RematchError):
    """A service cannot be brought up; ``part``: the key of its ``service.toml`` that is to blame."""

    exit_code = 2

    def __init__(self, part: Part, reason: str) -> None:
        self.part, self.reason = part, reason
        super().__init__(f"{part}: {reason}")


@dataclass(frozen=True, kw_only=True)
class Running:
    """A service that has answered. ``first``: its first answer."""

    instance: Instance
    endpoint: Endpoint
    first: Answer

    def ask(self, requests: tuple[Asked, ...]) -> tuple[Answer | str, ...]:
        """Return the answer to each, asked in order over one connection; text: why there is none."""
        answers: list[Answer | str] = []
        with Connection(self.endpoint) as connection:
            for one in requests:
                body = None if one.body is None else one.body.encode()
                raw = request_bytes(one.method, one.path, one.headers, body, self.endpoint)
                try:
                    answers.append(connection.exchange(raw, head_only=one.method == "HEAD"))
                except (ExchangeError, OSError) as problem:
                    answers.append(f"no answer: {problem}")
        return tuple(answers)


@contextlib.contextmanager
def running_service(
    assembly: Assembly,
    implementation: Implementation,
    variant: Variant,
    *,
    ready_path: str,
    ready_s: float,
    say: Callable[[str], None] = lambda _text: None,
) -> Iterator[Running]:
    """Build a service, start it with what it needs and wait for its first answer; all is stopped at the end.

    Any answer but 503 counts: what it has to be is not known yet.

    Raises:
        DoesNotStart: it cannot be built or started, or does not answer in time.
    """
    ledger = RunningProcesses(assembly.root, "adopt")
    ledger.refuse_orphans()
    refused = assembly.launcher.unavailable(implementation, variant)
    if refused is not None:
        raise DoesNotStart("build" if "to build" in refused else "start", refused)
    say(f"build of {implementation.name}" if implementation.build else f"copy of {implementation.name}")
    try:
        build = assembly.launcher.build(implementation, variant, None)
    except InputError as problem:
        if problem.place == "artifact":
            raise DoesNotStart("artifact", f"{problem.problem}: {problem.found}") from None
        raise DoesNotStart("source", str(problem)) from None
    except MissingTool as problem:
        raise DoesNotStart("build", str(problem)) from None
    except RematchError as problem:
        raise DoesNotStart("build", str(problem)) from None
    need = BackingNeed(
        workload=implementation.workload,
        contract=contract_of(assembly.root, implementation),
        settings=BackingSettings(),
    )
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="rematch-adopt-")))
        cleanup.callback(_close_backing, assembly)
        try:
            environment = cleanup.enter_context(running(implementation.needs, assembly.backing, need, folder))
        except RematchError as problem:
            raise DoesNotStart("needs", str(problem)) from None
        say(f"start of {implementation.name}")
        spec = LaunchSpec(
            implementation=implementation,
            variant=variant,
            build=build,
            folder=folder,
            environment=environment,
        )
        try:
            instance = assembly.launcher.launch(spec)
        except TrialFailure as failure:
            raise DoesNotStart("start", failure.reason) from None
        cleanup.callback(ledger.forget, instance.record.pid)
        cleanup.callback(instance.stop)
        ledger.note(pid=instance.record.pid, role=implementation.name, port=instance.record.port)
        yield Running(
            instance=instance,
            endpoint=instance.endpoint,
            first=_first_answer(assembly, instance, folder, ready_path, ready_s),
        )


def _close_backing(assembly: Assembly) -> None:
    for source in assembly.backing.values():
        source.close()


def _first_answer(assembly: Assembly, instance: Instance, folder: Path, path: str, ready_s: float) -> Answer:
    record, endpoint = instance.record, instance.endpoint
    started = assembly.host.first_answer(
        endpoint,
        request_bytes("GET", path, {}, None, endpoint),
        Watched(record.pid, record.process_start_ticks, instance.cpu_at_launch_s),
        launched=record.launched,
        deadline_s=ready_s,
    )
    if started.first.answer is not None:
        return started.first.answer
    said = _complaint(folder)
    if started.first.gone:
        raise DoesNotStart("start", f"it exited with {instance.exited()} before its first answer: {said}")
    others = _listens_on(record.pid)
    if others:
        raise DoesNotStart(
            "start",
            f"it listens on {', '.join(others)}, not on the {{host}}:{{port}} it was given "
            f"({endpoint.host}:{endpoint.port}): say how it takes its port",
        )
    raise DoesNotStart(
        "start", f"no answer to GET {path} within {ready_s:g} s, and it listens on no port: {said}"
    )


def _complaint(folder: Path) -> str:
    for name in (STDERR, STDOUT):
        with contextlib.suppress(OSError):
            text = (folder / name).read_bytes()[-_TAIL:].decode(errors="replace")
            telling = [line.strip() for line in text.splitlines() if "error" in line.lower()]
            found = telling[-1][:300] if telling else first_complaint(text)
            if found:
                return found
    return "it printed nothing"


def _listens_on(pid: int) -> list[str]:
    """Return the addresses on which a process or one of its children listens."""
    found: set[str] = set()
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(pid)
        for process in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                for one in process.net_connections(kind="inet"):
                    if one.status == psutil.CONN_LISTEN and one.laddr:
                        found.add(f"{one.laddr.ip}:{one.laddr.port}")
    return sorted(found)

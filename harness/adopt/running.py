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

from harness.adopt.curl import Call
from harness.agent.http_exchange import Answer, Connection, ExchangeError, request_bytes
from harness.agent.sampler import Subject
from harness.definitions import contract_of
from harness.errors import InputError, RematchError, TrialFailure
from harness.measure.session import Assembly
from harness.measure.session.signals import RunningProcesses
from harness.model import BackingSettings, Endpoint, Implementation, Variant
from harness.places.backing import BackingNeed, running
from harness.places.launchers.base import STDERR, STDOUT, Instance, LaunchSpec

Part = Literal["source", "build", "artifact", "start", "needs", "address"]
#: By then one is looked at that has not answered.
_LISTENS_S = 10.0
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
    """A service that has answered."""

    instance: Instance

    def processes(self) -> tuple[str, ...]:
        """Return the names of its processes, the first one first."""
        return tuple(name for name, _ in _processes(self.instance.record.pid))

    def ask(self, requests: tuple[Call, ...]) -> tuple[Answer | str, ...]:
        """Return the answer to each, asked in order over one connection; text: why there is none."""
        answers: list[Answer | str] = []
        endpoint = self.instance.endpoint
        with Connection(endpoint) as connection:
            for item in requests:
                body = None if item.body is None else item.body.encode()
                raw = request_bytes(item.method, item.path, item.headers, body, endpoint)
                try:
                    answers.append(connection.exchange(raw, head_only=item.method == "HEAD"))
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
    except RematchError as problem:
        raise DoesNotStart("build", str(problem)) from None
    contract = contract_of(assembly.root, implementation)
    need = BackingNeed(workload=implementation.workload, contract=contract, settings=BackingSettings())
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="rematch-adopt-")))
        for source in assembly.backing.values():
            cleanup.callback(source.close)
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
            hint = "; what was built is the folder {artifact}: {artifact}/PROGRAM is a program in it"
            names_none = any(f"[Errno {errno}]" in failure.reason for errno in (2, 13))
            raise DoesNotStart("start", failure.reason + hint * names_none) from None
        cleanup.callback(ledger.forget, instance.record.pid)
        cleanup.callback(instance.stop)
        ledger.note(pid=instance.record.pid, role=implementation.name, port=instance.record.port)
        for within_s in (min(_LISTENS_S, ready_s), ready_s):
            if _answers(assembly, instance, folder, ready_path, within_s, last=within_s == ready_s):
                break
        yield Running(instance=instance)


def _answers(
    assembly: Assembly, instance: Instance, folder: Path, path: str, within_s: float, *, last: bool
) -> bool:
    """Wait for the first answer, or raise why none comes; ``False``: one may still come after more than this time."""
    record, endpoint = instance.record, instance.endpoint
    first = assembly.host.first_answer(
        endpoint,
        request_bytes("GET", path, {}, None, endpoint),
        Subject(record.pid, record.process_start_ticks, instance.cpu_at_launch_s),
        launched=record.launched,
        deadline_s=within_s,
    ).first
    if first.ready:
        return True
    text = _complaint(folder)
    if first.gone:
        raise DoesNotStart("start", f"it exited with {instance.exited()} before its first answer; {text}")
    addresses = {at for _, listening in _processes(record.pid) for at in listening}
    wanted = endpoint.url.removeprefix("http://")
    own, ends = f"[::1]:{endpoint.port}", (wanted, f"0.0.0.0:{endpoint.port}", f"[::]:{endpoint.port}")
    if own in addresses and addresses.isdisjoint(ends):
        raise DoesNotStart("address", f'it listens on {own} alone, so address = "::1"')
    if not last:  # it may listen there later, and elsewhere before
        return False
    if addresses and not any(at.endswith(f":{endpoint.port}") for at in addresses):
        why = (
            f"it listens on {', '.join(sorted(addresses))}, not on the {{host}}:{{port}} it was given ({wanted}): say "
            'how it takes its port, for instance "--port={port}" at the end, or "env", "PORT={port}" at the beginning'
        )
        if all(at.startswith("[::1]") for at in addresses):
            why += ', and add the line address = "::1"'
    elif first.answer is not None:
        why = (
            f"it answers GET {path} with {first.answer.status}, which means that it is not ready, for {within_s:g} s: "
            f"--ready-within waits longer; {text}"
        )
    else:
        listens = f"it listens on {wanted}" if addresses else "it listens on no port yet"
        why = f"no answer to GET {path} within {within_s:g} s (--ready-within), and {listens}; {text}"
    raise DoesNotStart("start", why)


def _complaint(folder: Path) -> str:
    for name in (STDERR, STDOUT):
        with contextlib.suppress(OSError):
            text = (folder / name).read_bytes()[-_TAIL:].decode(errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            if lines:
                line = next((line for line in reversed(lines) if "error" in line.lower()), lines[-1])
                return f"it printed: {line[:300]}"
    return "it printed nothing"


def _processes(pid: int) -> list[tuple[str, set[str]]]:
    """Return name and listening addresses of a process and of its children."""
    result: list[tuple[str, set[str]]] = []
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(pid)
        for process in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                listening = {
                    Endpoint(host=item.laddr.ip, port=item.laddr.port).url.removeprefix("http://")
                    for item in process.net_connections(kind="inet")
                    if item.status == psutil.CONN_LISTEN and item.laddr
                }
                result.append((process.name(), listening))
    return result

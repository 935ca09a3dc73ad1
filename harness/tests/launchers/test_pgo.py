# SPDX-License-Identifier: Apache-2.0
"""Profile-guided builds: a real Go program is profiled under load once, and compiled with what was found."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

from harness.errors import RematchError
from harness.model import Implementation, RuntimeSettings, Variant
from harness.places.hosts.local import LocalHost
from harness.places.launchers import training
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools, build_environment, with_toolchain
from harness.project import find_root
from harness.tests.support.available import only_in_ci
from harness.toolchains import Surroundings, find_tool

PROGRAM = """\
package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	println("begins")
	port, problem := strconv.Atoi(os.Args[4])
	check(problem)
	listener, problem := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(problem)
	check(syscall.SetsockoptInt(listener, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	check(syscall.Bind(listener, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.Listen(listener, 16))
	for {
		connection, _, problem := syscall.Accept(listener)
		check(problem)
		go answer(connection)
	}
}

func check(problem error) {
	if problem != nil {
		panic(problem)
	}
}

func answer(connection int) {
	defer syscall.Close(connection)
	asked, n := make([]byte, 4096), 0
	for {
		more, problem := syscall.Read(connection, asked[n:])
		if problem != nil || more <= 0 {
			return
		}
		n += more
		if n < 4 || string(asked[n-4:n]) != "\\r\\n\\r\\n" {
			continue
		}
		n = 0
		time.Sleep(10 * time.Millisecond)
		if busy() == 0 {
			return
		}
		syscall.Write(connection, []byte("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"))
	}
}

func busy() uint32 {
	seed := uint32(2463534242)
	for range 500_000 {
		seed ^= seed << 13
		seed ^= seed >> 17
		seed ^= seed << 5
	}
	return seed
}
"""
#: A service whose time is in one function, so that a second under load is a profile. It stands on little of Go's
#: library, all of which is compiled anew for each profile, and waits before it works: nobody needs its answers soon.
TINY = Implementation(
    name="tiny", workload="strings", language="go", framework="none", runtime="go",
    build=("go", "build", "-trimpath", "-o", "target/service", "."), artifact="target/service",
    start=("{artifact}", "--host", "{host}", "--port", "{port}", "{settings}"), settings={"work": "--work={value}"},
)  # fmt: skip


@functools.cache
def go() -> Path | None:
    return find_tool("go", Surroundings(project=find_root())).path


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessLauncher:
    monkeypatch.setattr(training, "SETTLE_S", 1)
    monkeypatch.setattr(training, "PROFILED_S", 2)
    monkeypatch.setattr(training, "LEAST_CPU_S", 0.0)
    folder = tmp_path / "services" / "strings" / "tiny"
    folder.mkdir(parents=True)
    (folder / "main.go").write_text(PROGRAM)
    (folder / "go.mod").write_text("module tiny\n\ngo 1.22\n")
    contract = tmp_path / "services" / "strings" / "contract"
    contract.mkdir()
    (contract / "requests.jsonl").write_text(
        '{"mix": "any", "name": "ask", "method": "GET", "path": "/", "headers": {}, "expect": {"status": 200}}\n'
    )
    return ProcessLauncher(LocalHost(), tmp_path, Tools(go=go()))


def variant(**settings: str) -> Variant:
    return Variant(implementation="tiny", settings={**settings}, runtime=RuntimeSettings(pgo=True))


@only_in_ci("a program that is built twice, with its profile")
def test_a_program_is_profiled_once(launcher: ProcessLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    assert launcher.unavailable(TINY, variant()) is None
    plain = launcher.build(TINY, Variant(implementation="tiny"))
    record = launcher.build(TINY, variant())
    profile = record.cpu_profile
    assert plain.cpu_profile is None and profile is not None
    assert profile.cpu_s > 0 and profile.n_requests > 0 and profile.profile_bytes > 0
    assert (record.source_sha256, record.argv) == (plain.source_sha256, plain.argv), "built alike"
    assert record.artifact_sha256 != plain.artifact_sha256
    built = launcher.builder.folder(TINY).parent.glob("tiny-*/target/service")
    binary = next(path for path in built if "default.pgo" in told(path))
    assert b"cpu.pprof" not in binary.read_bytes(), "what is measured does not profile itself"

    monkeypatch.setattr(training, "train_profile", lambda *_: pytest.fail("it is profiled a second time"))
    assert launcher.build(TINY, variant()) == record


def test_useless_training_is_refused(launcher: ProcessLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LEAST_CPU_S", 1e6)
    with pytest.raises(RematchError, match=r"used [0-9.]+ s of CPU time; at least 1e\+06 s are needed"):
        launcher.build(TINY, variant())
    main = launcher.builder.source_folder(TINY) / "main.go"
    main.write_text(PROGRAM.replace('println("begins")', 'panic("no luck")'))
    with pytest.raises(RematchError, match=r"ended in the training run of a profile \(panic: no luck"):
        launcher.build(TINY, variant())


def told(binary: Path) -> str:
    """What Go says of how a binary was built."""
    words = [str(go()), "version", "-m", str(binary)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_levels_of_amd64_are_builds(launcher: ProcessLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    v3 = Variant(implementation="tiny", runtime=RuntimeSettings(goamd64="v3"))
    assert build_environment(with_toolchain(TINY, v3.runtime)) == {"GOAMD64": "v3"}
    assert v3.build_name == "tiny+v3"
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert "is of processors of the family x86-64" in (launcher.unavailable(TINY, v3) or "")

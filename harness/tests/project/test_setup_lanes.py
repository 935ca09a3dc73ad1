# SPDX-License-Identifier: Apache-2.0
"""Set-up's work beside each other: what overlaps, whose error is told, and that nothing is left running."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.tests.support.patience import patient
from setup import __main__ as setup_main
from setup import python_env
from setup.finders import toolchains
from setup.say import SetupError, run

PROJECT = Path(__file__).resolve().parents[3]
WITHIN_S = patient(30.0)


class Bringers:
    """Stand-ins for what brings each thing: ``doing`` says what a name does, ``began`` in which order they began."""

    def __init__(self, doing: Mapping[str, Callable[[], object]]) -> None:
        self.doing = doing
        self.began: list[str] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(python_env, "make_environment", lambda *_, **__: self.bring("python"))
        for name in ("go", "jdk", "jmeter", "wrk2", "oha"):
            monkeypatch.setattr(setup_main, f"_bring_{name}", lambda _, name=name: self.bring(name))
        monkeypatch.setattr(setup_main, "_bring_with_go", lambda name, _: self.bring(name))

    def bring(self, name: str) -> None:
        self.began.append(name)
        self.doing.get(name, lambda: None)()


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bringers]:
    """Brings everything by stand-ins, on a machine that has Java, and Go unless told otherwise."""

    def call(*, has_go: bool = True, k6_needed: bool = False, **doing: Callable[[], object]) -> Bringers:
        bringers = Bringers(doing)
        bringers.install(monkeypatch)
        monkeypatch.setattr(toolchains, "find_jdk", lambda _: SimpleNamespace(usable=True))
        lacking = {"jmeter", *(() if has_go else ("go",)), *(("k6",) if k6_needed else ())}
        setup_main._bring_beside(lacking, {"k6"}, python_ready=False)
        return bringers

    return call


def fails(said: str) -> Callable[[], object]:
    """Return a command that says this on stderr and fails."""
    return lambda: run(["/bin/sh", "-c", f"echo {said} of words >&2; exit 3"], doing=said)


def test_k6_is_built_and_jmeter_fetched_while_the_python_packages_come(
    bring: Callable[..., Bringers],
) -> None:
    together = threading.Barrier(3, timeout=WITHIN_S)  # raises where the three do not meet
    brought = bring(python=together.wait, k6=together.wait, jmeter=together.wait)
    assert brought.began[-1] == "oha"  # which keeps all cores to itself for minutes


def test_k6_waits_for_the_go_that_builds_it(bring: Callable[..., Bringers]) -> None:
    began = bring(has_go=False).began
    assert began.index("python") < began.index("go") < began.index("k6")


@pytest.mark.parametrize("error", [SetupError("no index"), KeyboardInterrupt()], ids=["failure", "Ctrl-C"])
def test_when_the_python_packages_stop_what_works_beside_them_is_ended_and_not_heard(
    bring: Callable[..., Bringers],
    error: BaseException,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def build() -> None:
        script = (
            f"echo $$ > {tmp_path}/pid; trap 'echo cut off >&2; exit 1' TERM; while :; do sleep 0.1; done"
        )
        run(["/bin/sh", "-c", script], doing="building k6")

    def python() -> None:
        until_s = time.monotonic() + WITHIN_S
        while not ((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text().strip()):
            assert time.monotonic() < until_s
            time.sleep(0.01)
        raise error

    with pytest.raises(type(error)) as caught:
        bring(k6=build, python=python)
    assert caught.value is error
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert "cut off" not in capsys.readouterr().err
    assert not {thread.name for thread in threading.enumerate()} & {"k6", "jmeter"}


def test_the_error_told_is_the_one_that_came_first_when_one_thing_was_brought_after_another(
    bring: Callable[..., Bringers], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SetupError, match=r"^python: `/bin/sh .* ended with status 3"):
        bring(python=fails("python"), jmeter=fails("jmeter"), k6=fails("k6"))
    assert capsys.readouterr().err == "    python of words\n"
    with pytest.raises(SetupError, match=r"^jmeter: "):
        bring(jmeter=fails("jmeter"), k6=fails("k6"))
    assert capsys.readouterr().err == "    jmeter of words\n"
    with pytest.raises(SetupError, match=r"^k6: "):
        bring(k6=fails("k6"), k6_needed=True)


def test_a_k6_that_is_only_wished_for_is_told_with_its_words_and_stops_nothing(
    bring: Callable[..., Bringers], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "oha" in bring(k6=fails("k6")).began
    said = capsys.readouterr()
    assert "going on without k6: k6: `/bin/sh" in said.out
    assert said.err == "    k6 of words\n"


def test_lines_of_several_threads_stay_whole() -> None:
    code = (
        "import threading; from setup.say import step\n"
        "def speak(): [step('word ' * 20 + 'end') for _ in range(300)]\n"
        "threads = [threading.Thread(target=speak) for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 8 * 300
    assert {re.sub(r"^\[ *\d+ s\] ", "", line) for line in lines} == {"word " * 20 + "end"}

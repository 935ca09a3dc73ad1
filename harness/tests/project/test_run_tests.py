# SPDX-License-Identifier: Apache-2.0
"""What ``make test`` runs: every test once, those that only compute beside Maven."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.tests.support.sessions import REPOSITORY
from setup import run_tests


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The words of pytest's calls; nothing runs."""
    words: list[tuple[str, ...]] = []

    def lane(checks: Sequence[run_tests.Check], env: object, failed: list[run_tests.Failure]) -> None:
        words.extend(check.command for check in checks if check.name.startswith("pytest"))

    def alone(env: object, arguments: Sequence[str]) -> int:
        words.append(tuple(arguments))
        return 0

    monkeypatch.setattr(run_tests, "run_lane", lane)
    monkeypatch.setattr(run_tests, "run_pytest", alone)
    return words


def test_those_that_only_compute_run_beside_maven_and_not_again(ran: list[tuple[str, ...]]) -> None:
    assert run_tests.main([]) == 0
    beside, alone = ran
    assert beside[-2:] == ("-m", "computes")
    assert alone == ("-m", "not computes")


def test_words_on_the_command_line_go_to_one_undivided_pytest(ran: list[tuple[str, ...]]) -> None:
    assert run_tests.main(["-k", "one", "-x"]) == 0
    assert ran == [("-k", "one", "-x")]


def test_together_both_halves_are_all_tests() -> None:
    """Of one module that has both kinds, counted by pytest itself."""
    counts = [
        _collected("-m", "computes"),
        _collected("-m", "not computes"),
        _collected(),
    ]
    assert min(counts) > 0
    assert counts[0] + counts[1] == counts[2]


def _collected(*words: str) -> int:
    files = ("harness/tests/analysis/attribution/test_queue_drain.py", "harness/tests/verify/test_page.py")
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", *words, *files],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = re.search(r"(\d+)(?:/\d+)? tests? collected", said)
    assert found is not None, said
    return int(found[1])


def service(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "service.toml").write_text(text, encoding="utf-8")


def test_services_are_found_by_their_own_description_and_maven_keeps_to_one_lane(tmp_path: Path) -> None:
    service(tmp_path / "services/w/go-x", 'language = "go"\ntest = ["go", "test", "./..."]')
    service(tmp_path / "services/w/java-y", 'language = "java"\ntest = ["{mvn}", "-q", "test"]')
    maven, others = run_tests.lanes(run_tests.service_checks(tmp_path))
    assert [check.name for check in maven] == ["w/java-y: mvn -q"]
    assert [check.name for check in others] == ["w/go-x: go vet", "w/go-x: go test"]


def test_a_service_in_a_language_that_is_not_here_is_named_with_the_install_step_and_fails_in_ci(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = run_tests.Check(name="w/node-x: node --test", command=("node", "--test"), folder=tmp_path)
    empty = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert run_tests.without_absent([check], empty) == []
    assert "not run: w/node-x: node --test; node >= 18 is missing: " in capsys.readouterr().out
    assert run_tests.without_absent([check], {**empty, "CI": "true"}) == [check]


def test_a_service_that_says_nothing_about_its_test_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service(tmp_path / "services/w/odd", 'language = "go"')
    with pytest.raises(SystemExit) as stopped:
        run_tests.service_checks(tmp_path)
    assert stopped.value.code == 2
    assert "services/w/odd/service.toml: test" in capsys.readouterr().err


def test_a_failing_check_is_shown_with_its_own_words_and_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = run_tests.Check(name="bad", command=("/bin/sh", "-c", "echo my reason; exit 3"), folder=tmp_path)
    absent = run_tests.Check(name="absent", command=(str(tmp_path / "no"),), folder=tmp_path)
    good = run_tests.Check(name="good", command=("/bin/sh", "-c", "true"), folder=tmp_path)
    failed: list[run_tests.Failure] = []
    run_tests.run_lane([bad, absent, good], {}, failed)
    out = capsys.readouterr().out
    assert [failure.name for failure in failed] == ["bad", "absent"]
    assert "my reason" in out
    assert "ok      good" in out


def test_what_failed_before_pytest_is_said_again_below_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = "for i in $(seq 300); do echo quiet $i; done"
    told = run_tests.Check(
        name="told",
        command=("/bin/sh", "-c", f"echo '[ERROR] AskedTest: was 2'; {noise}; exit 1"),
        folder=tmp_path,
    )
    mute = run_tests.Check(name="mute", command=("/bin/sh", "-c", f"{noise}; exit 1"), folder=tmp_path)
    monkeypatch.setattr(run_tests, "source_checks", lambda project: [told, mute])
    monkeypatch.setattr(run_tests, "service_checks", lambda project: [])
    monkeypatch.setattr(run_tests, "run_pytest", lambda env, words: print("1 passed") or 0)
    assert run_tests.main(["-k", "one"]) == 1
    below = capsys.readouterr().out.split("1 passed\n")[1].splitlines()
    assert below[:3] == [
        "FAILED before pytest: told",
        "    [ERROR] AskedTest: was 2",
        "FAILED before pytest: mute",
    ]
    assert below[-1] == "    quiet 300"
    assert len(below) == 3 + run_tests.TELLING_LINES

# SPDX-License-Identifier: Apache-2.0
"""What ``make test``, ``test-fast`` and ``test-all`` run, and what runs beside what."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from harness.tests.conftest import LONGEST, TESTS, WITH_MAVEN
from harness.tests.support.instances import eventually
from harness.tests.support.patience import patient
from harness.tests.support.sessions import REPOSITORY
from harness.tests.whole.test_request_logs import LOGGERS
from harness.toolchains import one_maven
from setup import run_tests
from setup.tested import Passed


class Ran:
    """What would have run: the environment of each check and of pytest, and pytest's words. Nothing runs."""

    def __init__(self) -> None:
        self.checks: list[str] = []
        self.words: list[tuple[str, ...]] = []
        self.environments: dict[str, Mapping[str, str]] = {}
        self.workers: list[int] = []
        self.checks_before_pytest: list[str] = []

    def lane(
        self,
        checks: Sequence[run_tests.Check],
        env: Mapping[str, str],
        failed: list[run_tests.Failure],
        passed: Passed | None = None,
    ) -> None:
        self.checks.extend(check.name for check in checks)
        self.environments |= {check.name: env for check in checks}

    def alone(self, env: Mapping[str, str], words: Sequence[str], workers: int) -> int:
        self.environments["pytest"] = env
        self.workers.append(workers)
        self.checks_before_pytest = list(self.checks)
        self.words.append(tuple(words))
        return 0


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    kept = Ran()
    monkeypatch.setattr(run_tests, "run_lane", kept.lane)
    monkeypatch.setattr(run_tests, "run_pytest", kept.alone)
    monkeypatch.delenv("REMATCH_LONG_TESTS", raising=False)
    return kept


def test_every_check_and_every_test_runs_once(ran: Ran) -> None:
    assert run_tests.main([]) == 0
    checks = [*run_tests.source_checks(REPOSITORY), *run_tests.service_checks(REPOSITORY)]
    shared = run_tests.shared_builds(REPOSITORY).name
    assert sorted(ran.checks) == sorted((shared, *(check.name for check in checks)))
    assert ran.words == [()]
    assert not any("REMATCH_LONG_TESTS" in env for env in ran.environments.values())


def test_in_mavens_lane_alone_the_tests_of_services_compile_less(ran: Ran) -> None:
    assert run_tests.main([]) == 0
    words = f"-DargLine={run_tests.QUICK_JVM}"
    quick = {name for name, env in ran.environments.items() if words in env.get("MAVEN_OPTS", "")}
    assert quick == {name for name in ran.checks if "mvn" in name} != set()


def test_what_pytest_builds_with_maven_is_built_before_maven_tests_services_for_minutes(ran: Ran) -> None:
    assert run_tests.main([]) == 0
    maven = [name for name in ran.checks if name.startswith("build of ") or "mvn" in name]
    assert maven[0] == run_tests.shared_builds(REPOSITORY).name
    assert {f"strings/{name}" for name in LOGGERS if "java" in name} <= set(run_tests.SHARED_BUILDS)


def test_what_go_compiles_for_a_service_it_compiles_for_its_tests_and_vets_once(ran: Ran) -> None:
    words = run_tests.QUICK_GO.split()
    for file in REPOSITORY.glob("services/*/*/service.toml"):
        build = tomllib.loads(file.read_text("utf-8")).get("build", ())
        if build[:1] == ["go"]:
            assert {"-trimpath", f"-tags={build[build.index('-tags') + 1]}"} < set(words), file
    assert run_tests.main([]) == 0
    flags = {name: env.get("GOFLAGS", "") for name, env in ran.environments.items()}
    assert all(run_tests.QUICK_GO in said for name, said in flags.items() if ": go " in name)
    assert run_tests.QUICK_GO not in flags["pytest"]


def test_words_on_the_command_line_go_to_one_undivided_pytest(ran: Ran) -> None:
    assert run_tests.main(["-k", "one", "-x"]) == 0
    assert ran.words == [("-k", "one", "-x")]


def test_the_fast_ones_are_the_checks_of_the_source_and_no_service(ran: Ran) -> None:
    assert run_tests.main(["--fast"]) == 0
    assert ran.checks == [check.name for check in run_tests.source_checks(REPOSITORY)]
    (folders,) = ran.words
    assert len(folders) > 5 and all((REPOSITORY / folder).is_dir() for folder in folders)


def test_the_files_that_begin_first_are_there() -> None:
    assert [name for name in (*LONGEST, *WITH_MAVEN) if not (TESTS / name).is_file()] == []


def test_two_mavens_of_a_project_wait_for_each_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from harness.toolchains import one_maven\n"
        "with one_maven(Path(sys.argv[1])): print('inside', flush=True); input()"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(
        words, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "inside\n"
        with (tmp_path / ".cache/builds/maven.lock").open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        one.kill()
    with one_maven(tmp_path):
        pass


def test_all_of_them_are_asked_for_by_what_the_reasons_of_those_left_out_name(ran: Ran) -> None:
    assert run_tests.main(["--all"]) == 0
    told = ran.environments["pytest"]
    assert told["REMATCH_LONG_TESTS"] == told["REMATCH_UNCUT_TESTS"] == "1"
    assert ran.words == [()]


def test_no_test_compiles_the_libraries_again_that_another_compiled(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert run_tests.main([]) == 0
    assert not any("PYTHONDONTWRITEBYTECODE" in env for env in ran.environments.values())


def test_busy_loops_run_beside_the_tests_and_end_with_them(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[psutil.Process] = []

    def look(env: Mapping[str, str], words: Sequence[str], workers: int) -> int:
        seen.extend(one for one in psutil.Process().children() if run_tests.BUSY_LOOP in one.cmdline())
        return ran.alone(env, words, workers)

    monkeypatch.setattr(run_tests, "run_pytest", look)
    assert run_tests.main(["--busy", "2", "-x"]) == 0
    assert len(seen) == 2 and not any(one.is_running() for one in seen)
    assert ran.words == [("-x",)]


def test_a_busy_loop_ends_with_the_run_that_was_killed() -> None:
    code = (
        "from setup.run_tests import busy_loops\nwith busy_loops(1) as ids: print(*ids, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        said = next(line for line in run.stdout if line.strip().isdigit())
        loop = psutil.Process(int(said))
        run.kill()
    assert eventually(lambda: not loop.is_running() or loop.status() == psutil.STATUS_ZOMBIE, 60)


def test_memory_is_held_beside_the_tests_and_given_back(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(
        "MemTotal:  1000000 kB\nMemFree:  100 kB\nMemAvailable:  164000 kB\n", encoding="ascii"
    )
    monkeypatch.setattr(run_tests, "MEMINFO", meminfo)
    seen: list[tuple[psutil.Process, int]] = []

    def look(env: Mapping[str, str], words: Sequence[str], workers: int) -> int:
        holders = [one for one in psutil.Process().children() if run_tests.MEMORY_HOLDER in one.cmdline()]
        seen.extend((one, one.memory_info().rss) for one in holders)
        return ran.alone(env, words, workers)

    monkeypatch.setattr(run_tests, "run_pytest", look)
    assert run_tests.main(["--memory", "90"]) == 0
    [(holder, rss_bytes)] = seen
    assert 64_000 * 1024 < rss_bytes < 100_000 * 1024, (
        "64,000 kB are wanting to 90 %, and Python takes some itself"
    )
    assert not holder.is_running()
    assert run_tests.memory_to_hold(50, meminfo.read_text("ascii")) == 0, "more is in use than was asked for"


@pytest.mark.parametrize(
    ("cpus", "memory_gib", "workers"),
    [(1, 16, 2), (2, 16, 4), (64, 16, 4), (2, 2.4, 2), (2, 0.5, 1), (2, None, 4)],
)
def test_fewer_tests_run_at_once_where_memory_is_short(
    cpus: int, memory_gib: float | None, workers: int
) -> None:
    memory_bytes = None if memory_gib is None else int(memory_gib * 2**30)
    assert run_tests.workers_for(cpus, memory_bytes) == workers


@pytest.mark.parametrize(("available_kib", "all_before"), [(2_400_000, True), (12_000_000, False)])
def test_where_memory_is_short_pytest_begins_when_every_other_check_is_done(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, available_kib: int, all_before: bool
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal:  24000000 kB\nMemAvailable:  {available_kib} kB\n", encoding="ascii")
    monkeypatch.setattr(run_tests, "MEMINFO", meminfo)
    pytest_began = threading.Event()
    lane, alone = ran.lane, ran.alone

    def slow_lane(checks: Sequence[run_tests.Check], *others: object) -> None:
        if not all_before:
            pytest_began.wait(patient(60))
        lane(checks, *others)  # type: ignore[arg-type]

    def began(env: Mapping[str, str], words: Sequence[str], workers: int) -> int:
        pytest_began.set()
        return alone(env, words, workers)

    monkeypatch.setattr(run_tests, "run_lane", slow_lane)
    monkeypatch.setattr(run_tests, "run_pytest", began)
    assert run_tests.main([]) == 0
    every = [*run_tests.source_checks(REPOSITORY), *run_tests.service_checks(REPOSITORY)]
    names = sorted([run_tests.shared_builds(REPOSITORY).name, *(check.name for check in every)])
    assert sorted(ran.checks) == names
    assert (sorted(ran.checks_before_pytest) == names) == all_before


def test_the_memory_that_is_available_is_read_where_the_system_says_it(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert run_tests.available_bytes(meminfo) is None
    meminfo.write_text("MemTotal:  1000000 kB\nMemAvailable:  164000 kB\n", encoding="ascii")
    assert run_tests.available_bytes(meminfo) == 164_000 * 1024


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


def test_a_service_is_tested_again_when_anything_changed_that_its_tests_read(tmp_path: Path) -> None:
    one, contract = tmp_path / "services/w/java-one", tmp_path / "services/w/contract"
    for folder in (one / "target", contract):
        folder.mkdir(parents=True)
    script = one / "test.sh"
    script.write_text("echo ran >> target/log")

    def runs(passed: Path | None, env: Mapping[str, str]) -> int:
        check = run_tests.Check(name="one", command=("/bin/sh", "test.sh"), folder=one, reads=one.parent)
        run_tests.run_lane([check], env, [], Passed(passed))
        return len((one / "target/log").read_text().splitlines())

    kept = tmp_path / "passed.json"
    assert [runs(kept, {}), runs(kept, {})] == [1, 1]
    assert runs(kept, {"JAVA_HOME": "another"}) == 2
    (contract / "cases.jsonl").write_text("{}")
    assert runs(kept, {}) == 3
    assert runs(None, {}) == 4
    script.write_text("echo ran >> target/log; exit 1")
    assert [runs(kept, {}), runs(kept, {})] == [5, 6]


def test_where_ci_is_set_and_when_all_is_asked_for_everything_runs_again(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[Path | None] = []

    def kept(file: Path | None) -> Passed:
        files.append(file)
        return Passed(file)

    monkeypatch.setattr(run_tests, "Passed", kept)
    monkeypatch.setenv("CI", "true")
    run_tests.main([])
    monkeypatch.delenv("CI")
    run_tests.main(["--all"])
    run_tests.main([])
    assert files == [None, None, run_tests.PASSED]


def test_what_failed_beside_pytest_is_said_again_below_its_summary(
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
    monkeypatch.setattr(run_tests, "run_pytest", lambda env, words, workers: print("1 passed") or 0)
    assert run_tests.main(["-k", "one"]) == 1
    said = capsys.readouterr().out.splitlines()
    at = said.index("FAILED beside pytest: told")  # the own words of a check may come at any time before
    below = said[at:]
    assert "1 passed" in said[:at]
    assert below[:3] == [
        "FAILED beside pytest: told",
        "    [ERROR] AskedTest: was 2",
        "FAILED beside pytest: mute",
    ]
    assert below[-1] == "    quiet 300"
    assert len(below) == 3 + run_tests.TELLING_LINES

# SPDX-License-Identifier: Apache-2.0
"""Set-up: what it would bring, whom it asks, what it says when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import toolchains
from harness.tests.support.fake_machine import around, fake_environment, program
from setup import __main__ as setup_main
from setup import apt, go_wheel, jdk_debian, pip_settings, python_env, scope
from setup.say import SetupError

PROJECT = Path(__file__).resolve().parents[3]


# --- the Python environment


def test_what_pip_is_told_is_told_to_uv(tmp_path: Path) -> None:
    listing = (
        "global.index-url='https://index.example/simple'\n"
        "global.extra-index-url='https://a.example/s\\nhttps://b.example/s'\n"
        f"global.find-links='{tmp_path} /no/such/folder'\n"
        "global.cert='/etc/own.pem'\n"
        "install.trusted-host='index.example'\n"
        ":env:.timeout='9'\n"
    )
    pip = pip_settings.read_pip(listing, {"PIP_TIMEOUT": "180"})
    assert pip_settings.uv_variables(pip, {}) == {
        "UV_DEFAULT_INDEX": "https://index.example/simple",
        "UV_INDEX": "https://a.example/s https://b.example/s",
        "UV_FIND_LINKS": str(tmp_path),
        "SSL_CERT_FILE": "/etc/own.pem",
        "UV_INSECURE_HOST": "index.example",
        "UV_HTTP_TIMEOUT": "180",
    }


def test_a_variable_of_pip_beats_its_file_and_a_variable_of_uv_beats_both() -> None:
    pip = pip_settings.read_pip(
        "global.index-url='https://file.example'", {"PIP_INDEX_URL": "https://env.example"}
    )
    assert pip_settings.uv_variables(pip, {}) == {"UV_DEFAULT_INDEX": "https://env.example"}
    assert pip_settings.uv_variables(pip, {"UV_DEFAULT_INDEX": "https://uv.example"}) == {}
    assert pip_settings.uv_variables(pip, {"UV_INDEX_URL": "https://older.example"}) == {}


def test_an_environment_is_current_until_an_input_changes(tmp_path: Path) -> None:
    fake_environment(tmp_path)
    assert python_env.environment_is_current(tmp_path, "py")
    assert not python_env.environment_is_current(tmp_path, "another interpreter")
    (tmp_path / "requirements.lock").write_text("changed", encoding="utf-8")
    assert not python_env.environment_is_current(tmp_path, "py")


def test_a_stamp_is_not_believed_when_a_package_is_gone(tmp_path: Path) -> None:
    fake_environment(tmp_path)
    program(tmp_path / ".venv/bin/python", '["rematch==0.1.0"]')
    assert not python_env.environment_is_current(tmp_path, "py")


def test_a_copied_project_gets_an_environment_of_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    fake_environment(one)
    one.rename(two)
    assert not python_env.environment_is_current(two, "py")


def test_set_up_finds_a_python_by_its_full_path_and_skips_what_is_too_old(tmp_path: Path) -> None:
    program(tmp_path / "python3", status=1)
    (tmp_path / "python3.12").symlink_to(sys.executable)
    done = subprocess.run(
        ["/bin/sh", str(PROJECT / "setup/find_python.sh")],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = Path(done.stdout.strip())
    assert found.is_absolute()
    assert (
        subprocess.run(
            [found, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False
        ).returncode
        == 0
    )


def test_set_up_itself_imports_nothing_but_the_standard_library() -> None:
    code = (
        "import sys, setup.__main__, setup.run_tests; names = {n.partition('.')[0] for n in sys.modules};"
        "print(sorted(names - set(sys.stdlib_module_names) - {'setup', 'rematch_platforms', 'rematch_toolchains', '__main__'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r}); {code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


# --- apt


def test_only_root_or_sudo_may_install_and_sudo_never_waits_for_a_password_unseen() -> None:
    assert apt.privilege(0, None, interactive=False) == ()
    assert apt.privilege(1000, "/usr/bin/sudo", interactive=True) == ("/usr/bin/sudo",)
    assert apt.privilege(1000, "/usr/bin/sudo", interactive=False) == ("/usr/bin/sudo", "-n")
    assert apt.privilege(1000, None, interactive=True) is None


@pytest.mark.parametrize("environ", [{"CI": "true"}, {"YES": "1"}])
def test_nobody_is_asked_where_ci_or_yes_is_set(
    environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert apt.is_interactive({})
    assert not apt.is_interactive(environ)


def fake_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    log = folder / "log"
    file = program(folder / "bin/apt-get")
    file.write_text(f'#!/bin/sh\necho "$*" >> {log}\n{script}\n', encoding="utf-8")
    monkeypatch.setenv("PATH", f"{file.parent}:/usr/bin:/bin")
    monkeypatch.setattr("setup.apt.os.geteuid", lambda: 0)
    return log


WRK = apt.AptRequest(tool="wrk", packages=("wrk",), why="to put load")


def test_packages_of_all_missing_tools_are_installed_by_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = fake_apt(tmp_path, monkeypatch, "exit 0")
    maven = apt.AptRequest(tool="maven", packages=("maven", "wrk"), why="to build")
    apt.install([WRK, maven], {"CI": "true"})
    calls = log.read_text(encoding="utf-8").splitlines()
    assert [call.split()[0] for call in calls] == ["update", "-o"]
    assert calls[1].endswith("install -y -qq --no-install-recommends wrk maven")
    assert "maven is missing, required to build" in capsys.readouterr().out


def test_a_no_installs_nothing_and_leaves_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_apt(tmp_path, monkeypatch, "exit 0")
    monkeypatch.setattr(apt, "is_interactive", lambda environ: True)
    with pytest.raises(SetupError, match="apt-get install -y wrk"):
        apt.install([WRK], {}, ask=lambda question: "n")
    assert not log.exists()


def test_a_lock_held_by_another_apt_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = tmp_path / "held"
    held.touch()
    monkeypatch.setattr("setup.apt.time.sleep", lambda seconds: held.unlink())
    log = fake_apt(
        tmp_path,
        monkeypatch,
        f'[ -e {held} ] || exit 0; echo "E: Could not get lock /var/lib/apt/lists/lock" >&2; exit 100',
    )
    apt.install([WRK], {"CI": "true"})
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["update", "update", "-o"]


def test_what_apt_says_is_shown_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_apt(tmp_path, monkeypatch, 'echo "E: Unable to locate package wrk" >&2; exit 100')
    with pytest.raises(SetupError, match="failed"):
        apt.install([WRK], {"CI": "true"})
    assert "Unable to locate package wrk" in capsys.readouterr().err


# --- a JDK on an old Debian, Go as a wheel


def test_links_out_of_an_unpacked_tree_are_turned_inwards(tmp_path: Path) -> None:
    (tmp_path / "etc/java").mkdir(parents=True)
    (tmp_path / "etc/java/a.cfg").write_text("a", encoding="utf-8")
    (tmp_path / "usr/lib").mkdir(parents=True)
    inward, outward = tmp_path / "usr/lib/a.cfg", tmp_path / "usr/lib/cacerts"
    inward.symlink_to("/etc/java/a.cfg")
    outward.symlink_to("/etc/ssl/certs/java/cacerts")
    jdk_debian.relink(tmp_path)
    assert inward.read_text(encoding="utf-8") == "a"
    assert str(outward.readlink()) == "/etc/ssl/certs/java/cacerts"


def test_programs_are_told_from_scripts_by_their_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n", encoding="utf-8")
    assert not jdk_debian.is_elf(tmp_path / "script")
    assert jdk_debian.is_elf(Path(os.path.realpath("/bin/sh")))


def test_the_pinned_go_is_new_enough_for_the_services() -> None:
    version = go_wheel.pinned_version(PROJECT / "setup/pins/go.txt")
    minimum = toolchains.wanted("go").minimum
    assert minimum is not None
    assert toolchains.parse_version(version) >= toolchains.parse_version(minimum)
    for module in PROJECT.glob("services/*/*/go.mod"):
        asked = next(line.split()[1] for line in module.read_text().splitlines() if line.startswith("go "))
        assert toolchains.parse_version(version) >= toolchains.parse_version(asked), module


def test_every_pin_is_one_version_with_hashes() -> None:
    for pin in (PROJECT / "setup/pins").glob("*.txt"):
        lines = [line for line in pin.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        kinds = ["hash" if line.strip().startswith("--hash=sha256:") else "package" for line in lines]
        assert all("==" in line for line, kind in zip(lines, kinds, strict=True) if kind == "package"), pin
        assert kinds[0] == "package" and kinds[-1] == "hash", pin
        assert "package package" not in " ".join(kinds), pin


# --- what each command needs


def test_rebuilding_the_paper_from_recorded_data_needs_only_latex() -> None:
    assert scope.needs("paper", "sample") == ("latex",)
    assert scope.needs("lab", "quick") == ()


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_measuring_needs_the_services_tools_and_a_load_generator(profile: str) -> None:
    assert {"go", "jdk", "maven", "jmeter", "postgres", "latex"} == set(scope.needs("paper", profile))
    assert scope.wishes("paper", profile) == ("wrk", "cc", "k6", "glances")


@pytest.mark.parametrize("tool", ["oha", "vegeta", "wrk2"])
def test_a_further_generator_is_built_when_it_is_asked_for_and_never_else(tool: str) -> None:
    assert tool in (*scope.needs("generators", "quick"), *scope.wishes("generators", "quick"))
    for purpose in ("all", "paper", "test", "lab", "workshop"):
        assert tool not in (*scope.needs(purpose, "quick"), *scope.wishes(purpose, "quick"))


def test_nothing_stops_where_wrk2_cannot_be_built() -> None:
    assert "wrk2" not in scope.needs("generators", "quick")


def test_k6_is_built_where_something_is_measured_and_a_machine_without_it_measures_the_rest() -> None:
    for purpose in ("all", "test", "paper"):
        assert "k6" in scope.wishes(purpose, "quick")
        assert "k6" not in scope.needs(purpose, "quick")
    assert "k6" not in scope.wishes("paper", "sample")


@pytest.mark.parametrize("tool", ["sshd", "node", "chromium"])
def test_what_only_tests_use_is_installed_for_them_and_nothing_stops_without_it(tool: str) -> None:
    for purpose in scope.PURPOSES:
        assert tool not in scope.needs(purpose, "quick")
    assert tool in scope.wishes("test", "quick")
    assert tool not in scope.wishes("paper", "quick")


def test_in_a_conda_environment_that_lacks_tools_conda_is_named_and_apt_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = fake_apt(tmp_path, monkeypatch, "exit 0")
    program(tmp_path / "system/usr/bin/apt-get")
    fake_environment(tmp_path / "project")
    place = around(tmp_path, CONDA_PREFIX=str(tmp_path / "conda"))
    with pytest.raises(
        SetupError, match=rf"lacks maven, latex; install it with: conda env update --prefix {tmp_path}"
    ):
        setup_main.bring(("maven", "latex"), ("wrk",), place)
    assert "maven >= 3.8 is missing: required to build" in capsys.readouterr().out
    assert not log.exists()


def test_a_tool_that_is_only_wished_for_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_environment(tmp_path / "project")
    monkeypatch.setattr("setup.python_env.environment_is_current", lambda project, python: True)
    setup_main.bring((), ("wrk",), around(tmp_path))
    assert "going on without wrk" in capsys.readouterr().out


def test_packages_that_are_only_wished_for_and_cannot_be_had_stop_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = fake_apt(tmp_path, monkeypatch, 'case "$*" in *openssh*) exit 100;; esac; exit 0')
    program(tmp_path / "system/usr/bin/apt-get")
    fake_environment(tmp_path / "project")
    monkeypatch.setattr("setup.python_env.environment_is_current", lambda project, python: True)
    setup_main.bring(("maven",), ("sshd",), around(tmp_path))
    assert "going on without sshd: installing maven openssh-server" in capsys.readouterr().out
    assert log.read_text(encoding="utf-8").splitlines()[-1].endswith("--no-install-recommends maven")

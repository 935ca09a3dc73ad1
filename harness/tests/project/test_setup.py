# SPDX-License-Identifier: Apache-2.0
"""Set-up: what it would bring, whom it asks, what it says when it cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness import toolchains
from harness.definitions import load_study
from harness.tests.support.fake_machine import fake_environment, program
from setup import jdk_debian, pip_settings, python_env, wheels

PROJECT = Path(__file__).resolve().parents[3]


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


def test_an_environment_is_current_until_an_input_a_package_or_its_place_changes(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    fake_environment(here)
    assert python_env.environment_is_current(here, "py")
    assert not python_env.environment_is_current(here, "another interpreter")
    python = here / ".venv/bin/python"
    before = python.read_text("utf-8")
    program(python, '["rematch==0.1.0"]')
    assert not python_env.environment_is_current(here, "py")
    python.write_text(before, "utf-8")
    here.rename(tmp_path / "there")
    assert not python_env.environment_is_current(tmp_path / "there", "py")
    (tmp_path / "there").rename(here)
    (here / "requirements.lock").write_text("changed", encoding="utf-8")
    assert not python_env.environment_is_current(here, "py")


def test_set_up_finds_a_python_by_its_full_path_and_skips_what_is_too_old(tmp_path: Path) -> None:
    program(tmp_path / "python3", status=1)
    (tmp_path / "python3.12").symlink_to(sys.executable)
    done = subprocess.run(
        ["/bin/sh", str(PROJECT / "setup/find_python.sh")],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    python = Path(done.stdout.strip())
    assert python.is_absolute()
    subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=True)


def test_set_up_itself_imports_nothing_but_the_standard_library() -> None:
    code = (
        "import sys, setup.__main__; names = {n.partition('.')[0] for n in sys.modules};"
        "print(sorted(names - set(sys.stdlib_module_names) - {'setup', 'rematch_platforms', 'rematch_toolchains', '__main__'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r}); {code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


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
    assert jdk_debian.is_elf(Path("/bin/sh").resolve())


def test_the_pinned_go_is_new_enough_for_the_services() -> None:
    version = wheels.pinned_version(PROJECT / "setup/pins/go.txt")
    minimum = toolchains.wanted("go").minimum
    assert minimum is not None
    assert toolchains.parse_version(version) >= toolchains.parse_version(minimum)
    for module in PROJECT.glob("services/*/*/go.mod"):
        asked = next(line.split()[1] for line in module.read_text().splitlines() if line.startswith("go "))
        assert toolchains.parse_version(version) >= toolchains.parse_version(asked), module


def test_the_pinned_java_is_the_release_that_an_experiment_names() -> None:
    version = wheels.pinned_version(PROJECT / "setup/pins/java.txt", wheels.JAVA)
    variants = load_study(PROJECT, "strings-then-now").experiment.variants.values()
    releases = {variant.runtime.java for variant in variants}
    assert toolchains.parse_version(version)[0] in releases


def test_every_pin_is_one_version_with_hashes() -> None:
    for pin in (PROJECT / "setup/pins").glob("*.txt"):
        lines = [line for line in pin.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        kinds = ["hash" if line.strip().startswith("--hash=sha256:") else "package" for line in lines]
        assert all("==" in line for line, kind in zip(lines, kinds, strict=True) if kind == "package"), pin
        assert kinds[0] == "package" and kinds[-1] == "hash", pin
        assert "package package" not in " ".join(kinds), pin

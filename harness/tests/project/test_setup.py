# SPDX-License-Identifier: Apache-2.0
"""Set-up: what it installs, builds and finds, with the real uv, the real make and the committed pins."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import toolchains
from harness.definitions import load_study
from harness.tests.support.available import PROJECT
from harness.tests.support.fake_machine import machine_to_set_up, program
from setup import __main__ as setup_main
from setup import light, python_env, releases, source_builds

LOCK = (PROJECT / "requirements.lock").read_text("utf-8")


@pytest.mark.parametrize(
    ("pip", "environ", "uv"),
    [
        ("global.index-url='https://a.example'\ninstall.trusted-host='a.example'", {},
         {"UV_DEFAULT_INDEX": "https://a.example", "UV_INSECURE_HOST": "a.example"}),
        ("global.extra-index-url='https://a.example\\nhttps://b.example'\nglobal.find-links='/no/such'\nglobal.cert='/c.pem'",
         {}, {"UV_INDEX": "https://a.example https://b.example", "SSL_CERT_FILE": "/c.pem"}),
        ("global.index-url='https://a.example'", {"PIP_INDEX_URL": "https://b.example", "PIP_TIMEOUT": "9"},
         {"UV_DEFAULT_INDEX": "https://b.example", "UV_HTTP_TIMEOUT": "9"}),
        ("global.index-url='https://a.example'", {"UV_INDEX_URL": "https://older.example"}, {}),
    ],
)  # fmt: skip
def test_what_pip_is_told_is_told_to_uv(pip: str, environ: dict[str, str], uv: dict[str, str]) -> None:
    assert python_env.uv_variables(python_env.read_pip(pip, environ), environ) == uv


#: Builds a project that is nothing but its script, so that no package has to be fetched for it.
BACKEND = """
import zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name, info = "rematch-0.1.0-py3-none-any.whl", "rematch-0.1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: rematch\\nVersion: 0.1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\nrematch = sys:exit\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


def write_wheel(folder: Path, name: str, version: str) -> str:
    """Write a package without content; return its line of a lock file."""
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    if not path.exists():
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_set_up_installs_what_the_lock_has_and_leaves_what_a_user_installed(tmp_path: Path) -> None:
    index = tmp_path / "wheels"
    for folder in ("wheels", "setup/pins", ".tools"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("setup/pins/uv.txt", "setup/python_env.py", "setup/light.py"):
        (tmp_path / name).write_bytes((PROJECT / name).read_bytes())
    (tmp_path / "setup/pins/build.txt").touch()
    (tmp_path / "backend.py").write_text(BACKEND)
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "rematch"\nversion = "0.1.0"\n'
    )
    (uv,) = (PROJECT / ".tools").glob("uv-*")
    (tmp_path / ".tools" / uv.name).symlink_to(uv.resolve())
    environ = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    environ |= {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(index), "UV_CACHE_DIR": str(tmp_path / "cache")}
    python = getattr(
        sys, "_base_executable", sys.executable
    )  # it has pip more often than an environment of it

    def made(**versions: str) -> list[str]:
        lock = "".join(write_wheel(index, *item) for item in versions.items())
        (tmp_path / "requirements.lock").write_text(lock)
        python_env.make_environment(tmp_path, python, environ)
        assert python_env.is_ready(tmp_path, python)
        return python_env.installed(tmp_path)

    def by_hand(name: str, version: str) -> None:
        write_wheel(index, name, version)
        words = ["pip", "install", "-q", "--python", str(tmp_path / ".venv/bin/python"), f"{name}=={version}"]
        subprocess.run([str(uv / "bin/uv"), *words], env=environ, check=True)

    assert made(numbers="1.0", tables="2.0") == ["numbers==1.0", "rematch==0.1.0", "tables==2.0"]
    by_hand("plots", "3.0")
    assert python_env.is_ready(tmp_path, python)
    by_hand("numbers", "9.0")
    assert not python_env.is_ready(tmp_path, python)
    assert made(numbers="1.0") == ["numbers==1.0", "plots==3.0", "rematch==0.1.0"]


def test_set_up_itself_imports_nothing_but_the_standard_library() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(PROJECT)!r}); import setup.__main__\n"
        "names = {name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(names - {'setup', 'rematch_platforms', 'rematch_toolchains', '__main__'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def names(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))


def test_the_light_lock_has_what_reading_needs_with_hashes_and_nothing_of_measuring_or_testing() -> None:
    part = light.light_lock(LOCK)
    measuring = {"locust", "docker", "paramiko", "psycopg-binary", "lightkube", "pytest", "mypy", "ruff"}
    assert set(light.reading()) <= names(part) and not names(part) & (measuring | set(light.SPARED))
    assert names(LOCK) >= measuring | set(light.SPARED)
    assert all("--hash=sha256:" in entry for entry in re.split(r"^(?=\S)", part, flags=re.MULTILINE)[1:])


def test_a_light_lock_keeps_what_a_kept_package_requires_but_for_what_is_spared() -> None:
    lock = "a==1 \\\n    --hash=x\nb==1 \\\n    --hash=y\n    # via\n    #   a\nc==1 \\\n    --hash=z\n    # via b\n"
    assert names(light.light_lock(lock, ["a"])) == {"a", "b", "c"}
    assert names(light.light_lock(lock, ["a"], spared=["b"])) == {"a"}
    with pytest.raises(ValueError, match="not in the lock file: z"):
        light.light_lock(lock, ["z"])


def test_the_pinned_go_and_java_are_those_that_services_and_experiments_need() -> None:
    version = toolchains.parse_version(releases.pinned_version(PROJECT / "setup/pins/go.txt"))
    modules = [path.read_text("utf-8") for path in PROJECT.glob("services/*/*/go.mod")]
    asked = [match[1] for text in modules if (match := re.search(r"^go (\S+)", text, re.MULTILINE))]
    least = [one for one in (toolchains.wanted("go").minimum, *asked) if one]
    assert all(version >= toolchains.parse_version(one) for one in least)
    java = toolchains.parse_version(releases.pinned_version(PROJECT / "setup/pins/java.txt", releases.JAVA))
    variants = load_study(PROJECT, "strings-then-now").experiment.variants.values()
    assert java[0] in {variant.runtime.java for variant in variants}


@pytest.mark.parametrize("name", source_builds.GO_PROGRAMS)
def test_a_generator_in_go_is_the_version_that_its_module_file_names_with_hashes(name: str) -> None:
    row, folder = source_builds.GO_PROGRAMS[name], PROJECT / "setup" / name
    assert row.version == toolchains.wanted(name).pinned
    assert f"require {row.package} v{row.version}\n" in (folder / "go.mod").read_text("utf-8")
    assert f"{row.package} v{row.version} h1:" in (folder / "go.sum").read_text("utf-8")


def test_metronome_of_another_source_stands_in_another_folder(tmp_path: Path) -> None:
    other = tmp_path / "metronome.c"
    other.write_bytes(toolchains.METRONOME.read_bytes() + b"// changed\n")
    assert toolchains.metronome_program(tmp_path, other) != toolchains.metronome_program(tmp_path)


@pytest.mark.parametrize(
    "line", [source_builds.FAULTY, source_builds.REPAIRED, f"{source_builds.FAULTY}\n{source_builds.FAULTY}"]
)
def test_wrk2s_one_fault_of_timers_is_repaired_and_its_version_says_so(tmp_path: Path, line: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/ae.c").write_text(line)
    (tmp_path / "src/wrk.h").write_text(f'#define VERSION "{source_builds.UNREPAIRED_VERSION}"\n')
    source_builds.repair(tmp_path)
    repaired = line == source_builds.FAULTY
    assert (tmp_path / "src/ae.c").read_text() == (source_builds.REPAIRED if repaired else line)
    version = toolchains.WRK2_VERSION if repaired else source_builds.UNREPAIRED_VERSION
    assert f'"{version}"' in (tmp_path / "src/wrk.h").read_text()


def test_what_is_only_wished_and_cannot_be_built_is_one_line_and_nothing_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = machine_to_set_up(tmp_path, monkeypatch, str(program(tmp_path / "bin/cc").parent))
    setup_main.bring((), ("wrk2",), place)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "going on without wrk2: " in line]
    assert "git does not start" in line and "make generators WRK2_SOURCE=FOLDER" in line
    monkeypatch.setenv(source_builds.WRK2_SOURCE, str(tmp_path))
    setup_main.bring((), ("wrk2",), place)
    assert "has no src/wrk.c and deps/luajit" in capsys.readouterr().out

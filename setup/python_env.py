# SPDX-License-Identifier: Apache-2.0
"""The Python environment: uv into ``.tools``, then ``.venv`` from the lock file, then this project into it."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .light import light_lock
from .say import SetupError, run, step

PINS = Path("setup/pins")
#: Changes in any of these make the environment stale. Set-up's own files count: they decide how it is made.
INPUTS = (
    "requirements.lock",
    "pyproject.toml",
    "setup/pins/uv.txt",
    "setup/pins/build.txt",
    "setup/python_env.py",
    "setup/light.py",
)
STAMP = Path(".tools/python.json")
#: What is installed where only records are read: a part of the lock file.
LIGHT_LOCK = Path(".tools/light.lock")
PROJECT = "rematch"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


def can_bootstrap(python: str) -> bool:
    """Return whether this interpreter has pip, or can make an environment that has it (Debian may lack both)."""
    return _answers(python, "-m", "pip") or _answers(python, "-m", "ensurepip")


def _answers(*command: str) -> bool:
    return _output(*command, "--version") is not None


def _output(*command: str, env: Mapping[str, str] | None = None) -> str | None:
    """Return what a program prints; None: it does not start, or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=env)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def is_ready(project: Path, python: str, *, light: bool = False) -> bool:
    """Return whether ``.venv`` is what the inputs ask for: the stamp says so, and what it lists is really there; what a
    user installed does not count. ``light``: for a command that only reads, where a part of the packages is enough."""
    stamp = _stamp(project)
    if stamp.get("inputs") != inputs_hash(project, python) or (stamp.get("light", False) and not light):
        return False
    listed = set(stamp.get("installed", ()))
    return (project / ".venv/bin/rematch").exists() and listed <= set(installed(project))


def is_full(project: Path) -> bool:
    """Return whether ``.venv`` was last made with all packages, for whichever inputs."""
    return _stamp(project).get("light") is False


def _stamp(project: Path) -> dict[str, Any]:
    try:
        stamp: dict[str, Any] = json.loads((project / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp


def inputs_hash(project: Path, python: str) -> str:
    """Return one hash over everything the environment is made from, the project's place included (scripts name it)."""
    digest = hashlib.sha256(f"{project}\0{python}\0{sys.version}".encode())
    for name in INPUTS:
        digest.update(name.encode() + b"\0" + (project / name).read_bytes() + b"\0")
    return digest.hexdigest()


def installed(project: Path) -> list[str]:
    """Return name and version of every distribution in ``.venv``; empty when its interpreter does not start."""
    code = (
        "import importlib.metadata as m, json;"
        "print(json.dumps(sorted({f\"{d.metadata['Name']}=={d.version}\" for d in m.distributions()"
        " if d.read_text('RECORD')})))"
    )
    names: list[str] = json.loads(_output(str(project / ".venv/bin/python"), "-I", "-c", code) or "[]")
    return names


def make_environment(project: Path, python: str, environ: Mapping[str, str], *, light: bool = False) -> None:
    """Bring what ``.venv`` lacks of the lock file or has in another version, every file checked against its hash. What
    a user installed stays; what set-up installed for an earlier lock file and this one does not have goes. ``light``:
    only what reading and teaching need (``setup/light.py``).

    Raises SetupError: neither pip nor ensurepip is there, or a registry did not give what was asked for.
    """
    uv, env = bring_uv(project, python, environ)
    venv = project / ".venv"
    before = set(_stamp(project).get("installed", ()))
    if not _works(venv, python):
        step(f"making .venv with {python}")
        run([uv, "venv", "-q", "--clear", "--python", python, venv], doing="making .venv", env=env)
    env["VIRTUAL_ENV"] = str(venv)
    lock = project / "requirements.lock"
    if light:
        (project / LIGHT_LOCK).write_text(light_lock(lock.read_text(encoding="utf-8")), encoding="utf-8")
        lock = project / LIGHT_LOCK
    what = "those locked Python packages that reading needs" if light else "the locked Python packages"
    step(f"installing {what} into .venv (a minute when nothing is cached)")
    locks = (lock, project / PINS / "build.txt")
    pip: list[str | Path] = [uv, "pip"]
    into: list[str | Path] = ["--python", venv / "bin/python"]
    run(
        [*pip, "install", "-q", "--no-deps", "--require-hashes", *into, *(w for file in locks for w in ("-r", file))],
        doing="installing requirements.lock", env=env,
        then="check that the package index of pip's configuration can be reached, then call this again",
    )  # fmt: skip
    editable = ["-q", "--no-deps", "--no-build-isolation", *into, "--editable", project]
    run([*pip, "install", *editable], doing="installing this project", env=env)
    text = "\n".join(file.read_text(encoding="utf-8") for file in locks)
    locked = {_normal(name) for name in (PROJECT, *_LOCKED.findall(text))}
    present = installed(project)
    if gone := sorted(name for name in before & set(present) if _normal(name) not in locked):
        names = [name.partition("==")[0] for name in gone]
        doing = "removing what the lock file no longer has"
        run([*pip, "uninstall", "-q", *into, *names], doing=doing, env=env)
    listed = [name for name in present if _normal(name) in locked]
    stamp = {"inputs": inputs_hash(project, python), "light": light, "installed": listed}
    (project / STAMP).write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


def _normal(distribution: str) -> str:
    """Return the name of a distribution, with its version or without, as an index compares it."""
    return re.sub(r"[-_.]+", "-", distribution.partition("==")[0]).lower()


def _works(venv: Path, python: str) -> bool:
    """Return whether ``.venv`` starts and was made from this interpreter."""
    code = "import sys; print(sys._base_executable); print(sys.version)"
    base, _, version = (_output(str(venv / "bin/python"), "-I", "-c", code) or "").partition("\n")
    return version.strip() == sys.version and os.path.realpath(base) == os.path.realpath(python)


def bring_uv(project: Path, python: str, environ: Mapping[str, str]) -> tuple[Path, dict[str, str]]:
    """Return the pinned uv in ``.tools`` and the environment to start it with; pip brings it when it is not there."""
    pin = project / PINS / "uv.txt"
    folder = project / ".tools" / f"uv-{hashlib.sha256(pin.read_bytes()).hexdigest()[:12]}"
    uv = folder / "bin" / "uv"
    pip = _pip(project, python)
    if not _answers(str(uv)):
        step("bringing uv with pip into .tools")
        run(
            [*pip, "install", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
             "--require-hashes", "--upgrade", "--target", folder, "-r", pin],
            doing="installing uv", env=environ,
            then="check that pip can reach its package index, then call this again",
        )  # fmt: skip
    listing = _output(*pip, "config", "list", env=environ) or ""
    env = {**environ, **uv_variables(read_pip(listing, environ), environ), "UV_PYTHON_DOWNLOADS": "never"}
    env.pop("UV_PYTHON", None)
    if ssl.get_default_verify_paths().cafile is not None:
        # uv trusts a list of its own; pip and apt trust the machine's, to which a company may have added
        for name in ("UV_SYSTEM_CERTS", "UV_NATIVE_TLS"):  # the newer and the older name
            env.setdefault(name, "true")
    if not os.access(environ.get("HOME", ""), os.W_OK):
        env.setdefault("UV_CACHE_DIR", str(project / ".tools/uv-cache"))
    return uv, env


def _pip(project: Path, python: str) -> list[str]:
    """Return the words that start pip: the interpreter's own, else that of a small environment in ``.tools``."""
    if _answers(python, "-m", "pip"):
        return [python, "-m", "pip"]
    folder = project / ".tools/pip"
    inner = str(folder / "bin/python")
    if not _answers(inner, "-m", "pip"):
        if not _answers(python, "-m", "ensurepip"):
            raise SetupError(
                f"{python} has neither pip nor ensurepip, one of which is required to install uv;"
                " install it with: apt-get install -y python3-venv"
            )
        run([python, "-m", "venv", "--clear", folder], doing="making a small environment for pip")
    return [inner, "-m", "pip"]


# uv reads neither pip.conf nor PIP_* variables: what the user has told pip (a company's index, a certificate, a folder
# of wheels) is told to uv. A UV_* variable that is already set is the user's choice and stays.

#: pip's key -> uv's variable.
UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "proxy": "HTTPS_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
}
#: Older names of the same settings, which count as the user's choice too.
OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


def read_pip(listing: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Read ``pip config list``: of one key ``install`` beats ``global``, and a PIP_* variable both."""
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for section, key, text in re.findall(r"^(global|install)\.([a-z-]+)=(.+)$", listing, re.MULTILINE):
        sections[section][key] = str(ast.literal_eval(text))
    own = {name[4:]: value for name, value in environ.items() if name.startswith("PIP_") and value}
    variables = {name.lower().replace("_", "-"): value for name, value in own.items()}
    return {**sections["global"], **sections["install"], **variables}


def uv_variables(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell uv what pip is told; never one that is set already."""
    wanted: dict[str, str] = {}
    for key, variable in UV.items():
        values = pip.get(key, "").split()
        if key == "find-links":
            values = [value for value in values if "://" in value or Path(value).exists()]
        set_already = environ.get(variable) or environ.get(OLDER.get(variable, variable))
        if values and not set_already:
            wanted[variable] = ("," if key == "find-links" else " ").join(values)
    return wanted

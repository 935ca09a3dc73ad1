# SPDX-License-Identifier: Apache-2.0
"""Start commands from the files that say them: package.json, a Procfile, a Compose file. What they say is kept, or
shown with a reason.

The file of a build tool tells how its programs are built. How one is started and takes its port is told by those files
or by a person; a Go program alone is started without, with its port in the variable ``PORT``.
"""

from __future__ import annotations

from pathlib import Path

from harness.adopt.guess import BY_VARIABLE, Guess, RuntimeName, parts_of, started
from harness.adopt.stacks import commands, compose, node
from harness.errors import InputError

SITE = "site-packages-of-service"
_PIP = ("python3", "-m", "pip", "install", "--quiet", "--no-input", "--target", SITE)
#: Of ``go build``: the one program that is made, of the package in the folder itself.
_GO_PROGRAM = "target/service"
#: File -> language, kind of runtime, build, and the form that start commands of such programs often have.
BUILD_FILES: dict[str, tuple[str, RuntimeName, tuple[str, ...], str]] = {
    "go.mod": ("go", "go", ("go", "build", "-o", _GO_PROGRAM, "."), "{artifact} -port {port}"),
    "Cargo.toml": ("rust", "native", ("cargo", "build", "--release"), "target/release/NAME --port {port}"),
    "pom.xml": (
        "java", "jvm", ("mvn", "-B", "-q", "package", "-DskipTests"), "java -jar target/NAME.jar --server.port={port}",
    ),
    "build.gradle": (
        "java", "jvm", ("sh", "gradlew", "--no-daemon", "-q", "assemble"),
        "java -jar build/libs/NAME.jar --server.port={port}",
    ),
    "requirements.txt": (
        "python", "other", (*_PIP, "-r", "requirements.txt"), "python3 -m gunicorn --bind {host}:{port} app:app",
    ),
}  # fmt: skip
#: Files that tell at least how a service is built.
FILES = ("package.json", "Procfile", *compose.FILES[:1], *BUILD_FILES)
_NOTHING_TELLS = "nothing here tells how the service is started"


def guess_of(folder: Path, start: str | None = None) -> Guess:
    """Return what the files of a folder say of a service in it.

    Args:
        start: a command of the user, in the place of what the files say; then it need not have such files.

    Raises:
        InputError: there is no such folder, or nothing in it tells how a service is built and started.
    """
    if not folder.is_dir():
        raise InputError("no such folder", file=folder, allowed="the folder of a service")
    composed = compose.read(folder)
    inner = folder if composed is None or composed.build is None else composed.build
    if composed is not None and not inner.is_dir():
        raise InputError(
            "is built in no folder of this machine", file=composed.file, place=f"services.{composed.service}.build",
            found=str(inner), allowed="a folder",
        )  # fmt: skip
    guess = node.guess(inner) or _built(inner)
    if guess is None and (start is not None or (inner / "Procfile").is_file()):
        guess = Guess(
            language="unknown", framework="unknown", runtime="other", source=inner, artifact=".", start=(),
            why={"build": "no file tells it"},
        )  # fmt: skip
    if guess is None:
        names = ", ".join(sorted(path.name for path in inner.iterdir() if not path.name.startswith("."))[:8])
        raise InputError(
            _NOTHING_TELLS, file=inner, found=names or "an empty folder",
            allowed=f"{', '.join(FILES)}; or the commands: --build 'make' --start './program --port {{port}}'",
        )  # fmt: skip
    by_files = commands.overruled(guess, inner)
    guess = by_files if start is None else commands.with_command(guess, start, "--start")
    if not parts_of(guess.start)[2]:
        name = guess.why["build"]
        form = BUILD_FILES[name][3] if name in BUILD_FILES else "./program --port {port}"
        raise InputError(
            _NOTHING_TELLS, file=guess.source, found="; ".join((name, *guess.remarks)),
            allowed=f"a line `web: COMMAND` in a Procfile, or a command such as: --start '{form}'",
        )  # fmt: skip
    return guess if composed is None else compose.completed(guess, composed)


def _built(folder: Path) -> Guess | None:
    """What a folder with one of ``BUILD_FILES`` needs; ``start`` has no program but for Go."""
    name = next((name for name in BUILD_FILES if any(folder.glob(f"{name}*"))), None)
    if name is None:
        return None
    language, runtime, build, _ = BUILD_FILES[name]
    start: tuple[str, ...] = ()
    if language == "go":
        start = started(("{artifact}",), "PORT={port}", inside=False)
    elif language == "python":
        start = started((), f"PYTHONPATH={{artifact}}/{SITE}:{{artifact}}")
    return Guess(
        language=language, framework="unknown", runtime=runtime, source=folder, build=build,
        artifact=_GO_PROGRAM if language == "go" else ".", start=start, why={"build": name, "start": BY_VARIABLE},
    )  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Container images: built by the Docker daemon from a folder, once per content, found again by their tag.

A root of this machine's own files serves machines that can pull no base image: a runtime, and the libraries it loads.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import RematchError
from harness.hosts.base import Command, Host
from harness.launchers.builds import BUILD_FILE, MADE_LATER
from harness.launchers.process import ProcessLauncher
from harness.model import BuildRecord, Frozen, Implementation, Variant
from harness.toolchains import require_package

if TYPE_CHECKING:
    from docker import DockerClient

#: On every image and container that is made here; nothing without it is ever touched.
LABEL = "rematch.project"
OWNER = "rematch.owner"
_LIBRARY = re.compile(r"(?:=>\s+)?(/\S+) \(0x[0-9a-f]+\)")
_ELF = b"\x7fELF"
#: Of all programs of a runtime, on a busy machine.
LISTED_WITHIN_S = 120.0


class Image(Frozen):
    """An image as the daemon has it."""

    id: str
    entrypoint: tuple[str, ...]
    image_bytes: int
    layer_bytes: tuple[int, ...]
    #: Into the store of a cluster's node; ``None``: it was there, or is no cluster's.
    import_s: float | None = None
    #: To a registry; ``None``: it was there, or is not pushed.
    push_s: float | None = None


@cache
def docker_errors() -> Any:
    """Return the errors of the Docker SDK, which is loaded when a daemon is first asked. Raises MissingTool."""
    require_package("docker")
    import docker.errors

    return docker.errors


def tag_of(name: str, *identity: str) -> str:
    """Return the tag of an image of exactly this content."""
    return f"rematch/{name}:{hashlib.sha256('|'.join(identity).encode()).hexdigest()[:12]}"


def project_label(root: Path) -> str:
    """Return what tells this project's images and containers from those of another checkout."""
    return hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]


def find_image(client: DockerClient, tag: str) -> Image | None:
    """Return an image, or ``None`` when the daemon has none of that name."""
    try:
        result = client.images.get(tag)
    except docker_errors().ImageNotFound:
        return None
    layers = [int(step["Size"]) for step in result.history() if int(step["Size"]) > 0]
    return Image(
        id=str(result.id),
        entrypoint=tuple(result.attrs["Config"].get("Entrypoint") or ()),
        image_bytes=int(result.attrs["Size"]),
        layer_bytes=tuple(reversed(layers)),
    )


def build_image(
    client: DockerClient,
    folder: Path,
    tag: str,
    *,
    label: str,
    target: str | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Image:
    """Have the image built from a folder with a ``Dockerfile``; no base image is pulled that is here. Raises
    RematchError: the build failed; says the daemon's last words."""
    try:
        client.images.build(
            path=str(folder),
            tag=tag,
            target=target,
            buildargs=dict(arguments or {}),
            labels={LABEL: label},
            rm=True,
            forcerm=True,
        )
    except (docker_errors().BuildError, docker_errors().APIError) as problem:
        raise RematchError(f"image {tag}: the Docker daemon could not build it: {problem}") from problem
    image = find_image(client, tag)
    if image is None:
        raise RematchError(f"image {tag}: was built and has been removed since")
    return image


def import_root(client: DockerClient, root: Path, tag: str, *, label: str, settings: tuple[str, ...]) -> None:
    """Make a base image of a folder: one layer; ``settings`` are words of a Dockerfile. Raises RematchError: the
    build failed."""
    context = root.with_name(f"{root.name}.context")
    context.mkdir()
    try:
        with tarfile.open(context / "root.tar", "w") as archive:
            archive.add(root, arcname=".", filter=_as_root)
        lines = ["FROM scratch", "ADD root.tar /", *settings]
        (context / "Dockerfile").write_text("\n".join(lines) + "\n")
        build_image(client, context, tag, label=label)
    finally:
        shutil.rmtree(context, ignore_errors=True)


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def is_elf(file: Path) -> bool:
    """Whether a file is a program or library of this kind of system."""
    try:
        with file.open("rb") as stream:
            return stream.read(4) == _ELF
    except OSError:
        return False


def libraries(host: Host, files: Iterable[Path], *, inside: Path | None = None) -> tuple[Path, ...]:
    """Return the shared libraries that these programs load, the loader included, without those ``inside``. glibc's
    ``ldd`` is asked about all of them at once. Raises RematchError: there is no ``ldd`` here."""
    completed = host.run(Command(argv=("ldd", *map(str, files)), folder=Path("/")), LISTED_WITHIN_S)
    if completed.exit_code == 127:
        raise RematchError("ldd is missing, which lists the libraries that an image needs")
    output = {Path(path) for path in _LIBRARY.findall(completed.stdout)}
    return tuple(sorted(path for path in output if inside is None or not path.is_relative_to(inside)))


def lay_out(root: Path, files: Iterable[Path]) -> None:
    """Copy files below ``root`` to the paths where they stand here, and make an empty ``/tmp``."""
    for file in files:
        target = root / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)  # what a link points to, under the link's name
    (root / "tmp").mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)


def runtime_root(host: Host, runtime: Path, root: Path) -> None:
    """Lay out a Java runtime at ``/opt/java`` with its libraries."""
    programs = [file for file in sorted(runtime.rglob("*")) if file.is_file() and is_elf(file)]
    lay_out(root, libraries(host, programs, inside=runtime))
    shutil.copytree(runtime, root / "opt" / "java", symlinks=True)


def copy_build(built: Path, target: Path) -> None:
    """Copy what a build consists of, without what was made of it later: caches, runtimes, native images, notes."""
    for file in sorted(built.rglob("*")):
        inner = file.relative_to(built)
        if file.is_file() and not inner.parts[0].startswith(MADE_LATER) and inner.parts[0] != BUILD_FILE:
            (target / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target / inner)


NATIVE_DOCKERFILE = (
    'ARG BASE_IMAGE=scratch\nFROM ${BASE_IMAGE}\nCOPY service /service\nENTRYPOINT ["/service"]\n'
)


class BuildImages:
    """``process`` has the builds; ``bases`` is runtime -> the base image to build on."""

    def __init__(self, process: ProcessLauncher, root: Path, bases: Mapping[str, str]) -> None:
        self._process, self._root, self._bases = process, root, bases

    def tag(self, implementation: Implementation, variant: Variant, record: BuildRecord) -> str:
        """Return the tag of the image of exactly this build on exactly this base."""
        native = variant.runtime.form == "native"
        base = "" if native else self._bases.get(implementation.runtime, "")
        form = (
            record.form.model_dump_json(include={"form", "tool", "modules", "image_sha256"})
            if record.form
            else ""
        )
        return tag_of(implementation.name, record.source_sha256, record.artifact_sha256, base, form)

    def make(
        self,
        client: DockerClient,
        implementation: Implementation,
        record: BuildRecord,
        tag: str,
    ) -> Image:
        """Have the image built. Raises RematchError: the daemon could not build it, or the build is gone."""
        label = project_label(self._root)
        builder = self._process.builder
        built = builder.find(implementation, record.source_sha256)
        if built is None:
            raise RematchError(f"{implementation.name}: its build is gone from the cache; build it again")
        with tempfile.TemporaryDirectory(prefix="rematch-image-") as name:
            work = Path(name)
            context = work / "context"
            context.mkdir()
            form = record.form.form if record.form is not None else None
            made = (
                self._process.forms.program(implementation, form, built.folder) if form is not None else None
            )
            base = self._bases.get(implementation.runtime, "scratch")
            if form == "native" and made is not None:
                shutil.copy2(made, context / "service")
                (context / "Dockerfile").write_text(NATIVE_DOCKERFILE)
                lay_out(work / "root", libraries(self._process.builds_on, [made]))
                base = self._base(client, work / "root", tag, ())
                return build_image(client, context, tag, label=label, arguments={"BASE_IMAGE": base})
            if form == "jlink" and made is not None:
                (work / "root").mkdir()
                runtime_root(self._process.builds_on, made.parent.parent, work / "root")
                base = self._base(client, work / "root", tag, ("ENV PATH=/opt/java/bin",))
            copy_build(built.folder, context)
            shutil.copy2(builder.source_folder(implementation) / "Dockerfile", context / "Dockerfile")
            arguments = {"BASE_IMAGE": base}
            return build_image(client, context, tag, label=label, target="prebuilt", arguments=arguments)

    def _base(self, client: DockerClient, root: Path, tag: str, settings: tuple[str, ...]) -> str:
        name, _, version = tag.partition(":")
        base = f"{name}-base:{version}"
        import_root(client, root, base, label=project_label(self._root), settings=settings)
        return base

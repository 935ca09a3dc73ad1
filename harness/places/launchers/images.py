# SPDX-License-Identifier: Apache-2.0
"""Images of builds and programs for containers and pods, made of files of this machine without a container engine.

An image has one layer: what a program needs, at the paths where it stands here. The same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import shutil
import tarfile
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from harness.errors import RematchError, TrialFailure
from harness.model import (
    BackingSettings,
    BuildRecord,
    Frozen,
    Implementation,
    InstanceRecord,
    Outcome,
    RuntimeSettings,
    Variant,
)
from harness.places.hosts.base import Host, run_words
from harness.places.launchers.base import LaunchSpec, masked
from harness.places.launchers.builds import BUILD_FILE, MADE_LATER, Built
from harness.places.launchers.process import GRACE_S, ProcessLauncher
from harness.places.launchers.tools import lacks_runtime

#: On every image and container that is made here; nothing without it is ever touched.
LABEL = "rematch.project"
OWNER = "rematch.owner"
#: Where a build and a Java runtime stand inside.
SERVICE, JAVA = Path("/service"), Path("/opt/java")
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_LIBRARY = re.compile(r"(?:=>\s+)?(/\S+) \(0x[0-9a-f]+\)")
#: Of all programs of a runtime, on a busy machine.
LISTED_WITHIN_S = 120.0


class Image(Frozen):
    """An image. ``import_s``: how long it took into its store; ``None``: it was there."""

    id: str
    image_bytes: int
    import_s: float | None = None


def project_label(root: Path) -> str:
    """Return what tells this project's images and containers from those of another checkout."""
    return hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]


Place = TypeVar("Place")


class ImageLauncher(ABC, Generic[Place]):
    """What launchers of containers and pods have in common. Artifacts are those that ``process`` builds; ``bases``:
    runtime -> folder with what its programs run on. ``Place``: what images are started in, once it has answered."""

    #: Settings that concern the place and not the program.
    outside: tuple[str, ...] = ("memory_limit",)
    noun = "container"
    #: Before ``NAME:TAG`` of images.
    prefix = "rematch/"

    def __init__(
        self,
        process: ProcessLauncher,
        root: Path,
        *,
        bases: Mapping[str, Path] | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._process, self._root, self._grace_s = process, root, grace_s
        self._bases = dict(bases or {})
        self._place: Place | None = None
        self._silent: str | None = None
        self._known: dict[str, Image] = {}

    @abstractmethod
    def _connect(self) -> Place:
        """Return the place. Raises RematchError: it does not answer, or is of no use."""

    @abstractmethod
    def _has(self, place: Place, image: str) -> bool:
        """Return whether an image is there by its whole name."""

    @abstractmethod
    def _add(self, place: Place, archive: Path, image: str) -> None:
        """Bring an archive there, as ``docker save`` writes it. Raises RematchError: it cannot be brought."""

    def _lacking(self, place: Place, implementation: Implementation, runtime: RuntimeSettings) -> str | None:
        """Return what a variant needs that this place lacks, or ``None``."""
        return None

    def unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        place = self._answering()
        if place is None:
            return self._silent
        lacking = self._lacking(place, implementation, variant.runtime)
        lacking = lacking or lacks_runtime(implementation, variant.runtime, self.noun)
        if lacking is None and implementation.runtime == "other" and "other" not in self._bases:
            return f"no image is made for programs of this kind: {implementation.name} needs an interpreter"
        return lacking or self._process.unfit(implementation, self._inside(implementation, variant))

    def build(
        self, implementation: Implementation, variant: Variant, backing: BackingSettings | None = None
    ) -> BuildRecord:
        self._needed()
        record = self._process.build(implementation, self._inside(implementation, variant), backing)
        if record.form is None or record.form.problem is None:
            self._image(implementation, record)
        return record

    def _inside(self, implementation: Implementation, variant: Variant) -> Variant:
        """Return the variant as it is built for an image: a Java program brings a trimmed runtime."""
        changes: dict[str, Any] = dict.fromkeys(self.outside)
        if implementation.runtime == "jvm" and variant.runtime.form in (None, "jvm"):
            changes["form"] = "jlink"
        return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=changes)})

    def _image(self, implementation: Implementation, build: BuildRecord) -> tuple[str, Image]:
        """Return name and image of exactly this build, brought to the store unless it is there. Raises RematchError:
        the build is gone, or the image cannot be made or brought; TrialFailure: its form was not made."""
        if build.form is not None and build.form.problem is not None:
            raise TrialFailure(Outcome.FAILED, build.form.problem)
        place, label = self._needed(), project_label(self._root)
        form = "" if build.form is None else build.form.model_dump_json()
        base = str(self._bases.get(implementation.runtime, ""))
        identity = "|".join((label, build.source_sha256, build.artifact_sha256, base, form)).encode()
        name = f"{self.prefix}{implementation.name}:{hashlib.sha256(identity).hexdigest()[:12]}"
        if name not in self._known:
            built = self._process.builder.find(implementation, build.source_sha256)
            if built is None:
                raise RematchError(f"{implementation.name}: its build is gone from the cache; build it again")
            with tempfile.TemporaryDirectory(prefix="rematch-image-") as folder:
                root, archive = Path(folder) / "root", Path(folder) / "image.tar"
                self._lay_out(root, implementation, build, built)
                image = write_archive(root, name, archive, {LABEL: label})
                if not self._has(place, name):
                    begin = time.monotonic()
                    self._add(place, archive, name)
                    image = image.model_copy(update={"import_s": time.monotonic() - begin})
            self._known[name] = image
        return name, self._known[name]

    def _lay_out(self, root: Path, implementation: Implementation, record: BuildRecord, built: Built) -> None:
        host, service = self._process.builds_on, root / SERVICE.relative_to("/")
        form = None if record.form is None else record.form.form
        made = None if form is None else self._process.forms.program(implementation, form, built.folder)
        lay_out(root, ())
        if form == "native" and made is not None:
            lay_out(root, libraries(host, [made]))
            target = service / implementation.artifact
            target.parent.mkdir(parents=True)
            shutil.copy2(made, target)
            return
        if made is not None:
            java = made.parent.parent
            programs = [*(java / "bin").iterdir(), *java.rglob("*.so")]
            lay_out(root, libraries(host, programs, inside=java))
            shutil.copytree(java, root / JAVA.relative_to("/"), symlinks=True)
        if implementation.runtime in self._bases:
            shutil.copytree(self._bases[implementation.runtime], root, symlinks=True, dirs_exist_ok=True)
        if implementation.runtime == "go":
            lay_out(root, libraries(host, [built.artifact]))
        for file in sorted(built.folder.rglob("*")):  # without what was made of it later
            inner = file.relative_to(built.folder)
            if file.is_file() and not inner.parts[0].startswith((*MADE_LATER, BUILD_FILE)):
                (service / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, service / inner)

    def _started_by(
        self, spec: LaunchSpec, cpu_limit: int | None, address: str, port: int
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return command and environment inside."""
        values = {
            "artifact": str(SERVICE / spec.implementation.artifact),
            "java": str(JAVA / "bin" / "java"),
            "python": "/bin/python3",
            "host": address,
            "port": str(port),
        }
        variant = self._inside(spec.implementation, spec.variant)
        argv, environment = self._process.start_in_image(spec.implementation, variant, cpu_limit, values)
        return argv, {**environment, **spec.environment}

    def _record(
        self, spec: LaunchSpec, image: Image, environment: Mapping[str, str], **more: Any
    ) -> InstanceRecord:
        build = spec.build
        built = None
        if build.form is None:
            built = self._process.builder.find(spec.implementation, build.source_sha256)
        return InstanceRecord(
            environment=masked(environment),
            artifact_sha256=build.artifact_sha256,
            artifact_bytes=build.artifact_bytes,
            runtime_bytes=max(0, image.image_bytes - build.artifact_bytes),
            # as the tool that made it names itself
            runtime_version=build.form.tool if build.form else built.runtime_version if built else None,
            **more,
        )

    def _needed(self) -> Place:
        place = self._answering()
        if place is None:
            raise RematchError(self._silent or "nothing answers")
        return place

    def _answering(self) -> Place | None:
        if self._place is None and self._silent is None:
            try:
                self._place = self._connect()
            except RematchError as problem:
                self._silent = str(problem)
        return self._place


def libraries(host: Host, files: Iterable[Path], *, inside: Path | None = None) -> tuple[Path, ...]:
    """Return the shared libraries that these programs load, the loader included, without those ``inside``. glibc's
    ``ldd`` is asked about all of them at once. Raises RematchError: there is no ``ldd`` here."""
    completed = run_words(host, "ldd", *map(str, files), within_s=LISTED_WITHIN_S)
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


def write_archive(root: Path, name: str, archive: Path, labels: Mapping[str, str]) -> Image:
    """Write an image of one layer, a folder's content, as ``docker save`` does; ``name`` with its tag."""
    layer = archive.with_suffix(".layer")
    with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(root)), recursive=False, filter=_timeless)
    with layer.open("rb") as stream:
        diff = hashlib.file_digest(stream, "sha256").hexdigest()
    config = {
        "architecture": _MACHINES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {"Env": [f"PATH={JAVA}/bin:/usr/bin:/bin"], "WorkingDir": "/", "Labels": dict(labels)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff}"]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "rematch"}],
    }
    text = json.dumps(config, sort_keys=True).encode()
    image_id = hashlib.sha256(text).hexdigest()
    manifest = [{"Config": f"{image_id}.json", "RepoTags": [name], "Layers": [f"{diff}/layer.tar"]}]
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for inner, content in ((f"{image_id}.json", text), ("manifest.json", json.dumps(manifest).encode())):
            info = tarfile.TarInfo(inner)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        tar.add(layer, arcname=f"{diff}/layer.tar", filter=_timeless)
    size = layer.stat().st_size
    layer.unlink()
    return Image(id=f"sha256:{image_id}", image_bytes=size)


def _timeless(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry

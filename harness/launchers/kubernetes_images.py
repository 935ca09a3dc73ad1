# SPDX-License-Identifier: Apache-2.0
"""Images for a cluster's nodes, made of a folder without a container engine, and imported into their store or pushed.

An image has one layer: what a program needs, at the paths where it stands here. The same folder gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from harness.errors import HostError, InputError, RematchError
from harness.hosts.base import Command, Completed, Host
from harness.launchers.builds import BUILD_FILE, MADE_LATER
from harness.launchers.images import Image, tag_of
from harness.launchers.process import ProcessLauncher
from harness.launchers.rootfs import lay_out, libraries, runtime_root
from harness.model import BuildRecord, Implementation

#: Where a build and a Java runtime stand inside.
SERVICE, JAVA = Path("/service"), Path("/opt/java")
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_IMPORT_WITHIN_S = 300.0
#: Names the containerd socket of the cluster's node.
SOCKET = "REMATCH_CONTAINERD"


class ImageStore(Protocol):
    """Where a cluster's nodes have images from: their own store, or a registry.

    ``policy``: when a node pulls one; ``timed``: the field of ``Image`` for how long it took to get there.
    """

    @property
    def policy(self) -> Literal["Never", "IfNotPresent"]: ...

    @property
    def timed(self) -> Literal["import_s", "push_s"]: ...

    @property
    def words(self) -> str:
        """Where images come from, for the record."""
        ...

    def named(self, tag: str) -> str:
        """Return the whole name of an image ``rematch/NAME:TAG``."""
        ...

    def has(self, image: str) -> bool:
        """Whether it is there by its whole name."""
        ...

    def add(self, archive: Path) -> None:
        """Bring an archive there.

        Raises:
            RematchError: it is refused.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Importer:
    """How images come into the store of a node. ``bring``: words before the archive's path; ``after``: behind it."""

    host: Host
    bring: tuple[str, ...]
    after: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    policy: Literal["Never"] = "Never"
    timed: Literal["import_s"] = "import_s"

    @property
    def words(self) -> str:
        """Where images come from, for the record."""
        return f"imported by {Path(self.bring[0]).name}"

    def named(self, tag: str) -> str:
        """Return the whole name of an image in the store of a node."""
        return f"docker.io/{tag}"

    def has(self, image: str) -> bool:
        """Whether the store has it; where nobody can be asked, it has not."""
        if self.names is None:
            return False
        done = self._run((*self.names, f"name=={image}"))
        return done.exit_code == 0 and image in done.stdout.split()

    def add(self, archive: Path) -> None:
        """Import an archive.

        Raises:
            RematchError: the program is not there, or refused it; says its last words.
        """
        done = self._run((*self.bring, str(archive), *self.after))
        if done.exit_code:
            output = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["nothing"]
            raise RematchError(f"{' '.join(self.bring)}: the image was not imported: {output[0][:300]}")

    def _run(self, argv: tuple[str, ...]) -> Completed:
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        try:
            return self.host.run(Command(argv=argv, folder=Path("/"), environment=path), _IMPORT_WITHIN_S)
        except HostError as problem:
            raise RematchError(f"images cannot be imported into the cluster: {problem}") from problem


def importer_for(
    host: Host, context: str, kubeconfig: Path, environment: Mapping[str, str] | None = None
) -> Importer:
    """Return how images get into the cluster of this context: kind's and minikube's own way, or containerd's socket.

    Raises:
        InputError: it is neither, and no socket is found.
    """
    environment = os.environ if environment is None else environment
    if context.startswith("kind-"):
        name = ("--name", context.removeprefix("kind-"))
        return Importer(host=host, bring=("kind", "load", "image-archive"), after=name)
    if context == "minikube":
        return Importer(host=host, bring=("minikube", "image", "load"))
    said = environment.get(SOCKET)
    likely = (
        kubeconfig.with_name("containerd.sock"),
        Path("/run/k3s/containerd/containerd.sock"),
        Path("/run/containerd/containerd.sock"),
    )
    result = Path(said) if said else next((path for path in likely if path.is_socket()), None)
    if result is None or not result.is_socket():
        raise InputError(
            "no way to import images into the cluster's nodes",
            place=SOCKET,
            found=said or "not set",
            allowed="the path of the node's containerd socket; kind and minikube need none",
        )
    ctr = ("ctr", "-a", str(result), "-n", "k8s.io", "images")
    return Importer(host=host, bring=(*ctr, "import"), names=(*ctr, "ls", "-q"))


class ClusterImages:
    """Images of builds and of load generators. ``bases``: runtime -> folder with what such a program runs on."""

    def __init__(self, process: ProcessLauncher, store: ImageStore, bases: Mapping[str, Path]) -> None:
        self._process, self._store, self._bases = process, store, dict(bases)
        self._known: dict[str, Image] = {}

    def of_build(self, implementation: Implementation, record: BuildRecord) -> tuple[str, Image]:
        """Return the image of exactly this build, imported or pushed unless it is there.

        Raises:
            RematchError: the build is gone, or the image cannot be made, imported or pushed.
        """
        form = "" if record.form is None else record.form.model_dump_json()
        base = str(self._bases.get(implementation.runtime, ""))
        tag = tag_of(implementation.name, record.source_sha256, record.artifact_sha256, base, form)
        name = self._store.named(tag)
        built = self._process.builder.find(implementation, record.source_sha256)
        if built is None:
            raise RematchError(f"{implementation.name}: its build is gone from the cache; build it again")

        def fill(root: Path) -> None:
            host = self._process.builds_on
            (root / "tmp").mkdir(mode=0o1777)
            made = None if record.form is None else record.form.form
            if made == "native":
                program = self._process.forms.program(implementation, "native", built.folder)
                lay_out(root, libraries(host, [program]))
                target = root / SERVICE.relative_to("/") / implementation.artifact
                target.parent.mkdir(parents=True)
                shutil.copy2(program, target)
                return
            if made == "jlink":
                java = self._process.forms.program(implementation, "jlink", built.folder)
                runtime_root(host, java.parent.parent, root)
            if implementation.runtime in self._bases:
                shutil.copytree(self._bases[implementation.runtime], root, symlinks=True, dirs_exist_ok=True)
            if implementation.runtime == "go":
                lay_out(root, libraries(host, [built.artifact]))
            for file in sorted(built.folder.rglob("*")):
                inner = file.relative_to(built.folder)
                if (
                    file.is_file()
                    and not inner.parts[0].startswith(MADE_LATER)
                    and inner.parts[0] != BUILD_FILE
                ):
                    target = root / SERVICE.relative_to("/") / inner
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, target)

        return name, self._image(name, fill)

    def of_program(self, program: Path) -> str:
        """Return the image of one program of this machine with the libraries that it loads, at their own paths.

        Raises:
            RematchError: it cannot be made, imported or pushed.
        """
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
        name = self._store.named(tag_of(program.name, str(program), digest))

        def fill(root: Path) -> None:
            lay_out(root, [program, *libraries(self._process.builds_on, [program])])

        self._image(name, fill)
        return name

    @property
    def policy(self) -> Literal["Never", "IfNotPresent"]:
        """When a node pulls an image."""
        return self._store.policy

    @property
    def words(self) -> str:
        """Where the images come from."""
        return self._store.words

    def import_s(self, name: str) -> float | None:
        """Return how long the node took to import an image that was asked for; ``None``: it had it."""
        return self._known[name].import_s

    def push_s(self, name: str) -> float | None:
        """Return how long the push of an image took that was asked for; ``None``: none was needed."""
        return self._known[name].push_s

    def _image(self, name: str, fill: Callable[[Path], None]) -> Image:
        if name not in self._known:
            with tempfile.TemporaryDirectory(prefix="rematch-image-") as folder:
                root, archive = Path(folder) / "root", Path(folder) / "image.tar"
                root.mkdir()
                fill(root)
                image = write_archive(root, name, archive)
                if not self._store.has(name):
                    begin = time.monotonic()
                    self._store.add(archive)
                    image = image.model_copy(update={self._store.timed: time.monotonic() - begin})
                self._known[name] = image
        return self._known[name]


def write_archive(root: Path, name: str, archive: Path) -> Image:
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
        "config": {"Env": ["PATH=/opt/java/bin:/usr/bin:/bin"], "WorkingDir": "/"},
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
    return Image(id=f"sha256:{image_id}", entrypoint=(), image_bytes=size, layer_bytes=(size,))


def _timeless(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


__all__ = [
    "JAVA", "SERVICE", "SOCKET", "ClusterImages", "ImageStore", "Importer", "importer_for", "write_archive",
]  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Images for a cluster's nodes, made of a folder without a container engine, then imported or pushed by a program.

An image has one layer: what a program needs, at the paths where it stands here. The same folder gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import HostError, InputError, MissingTool, RematchError
from harness.hosts.base import Command, Completed, Host
from harness.launchers.images import Image, copy_build, lay_out, libraries, runtime_root, tag_of
from harness.launchers.process import ProcessLauncher
from harness.model import BuildRecord, Implementation

#: Where a build and a Java runtime stand inside.
SERVICE, JAVA = Path("/service"), Path("/opt/java")
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_BROUGHT_WITHIN_S = 300.0
#: Where programs and their credentials for a registry are.
_PASSED_ON = ("PATH", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR")
#: Names the containerd socket of the cluster's node.
SOCKET = "REMATCH_CONTAINERD"
#: Names the registry that images are pushed to, and a path in it: ``localhost:5000/rematch``.
REGISTRY = "REMATCH_REGISTRY"
_REGISTRY_FORM = re.compile(r"(?:(?P<scheme>https?)://)?(?P<place>[a-z0-9.\[\]:_-]+(?:/[a-z0-9._-]+)*)/?")
_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|/|$)")


@dataclass(frozen=True, kw_only=True)
class ImageStore:
    """Where a cluster's nodes have images from, by the commands of a program. ``bring``: its words, with
    ``{archive}`` and ``{image}``; ``look``: of the command that prints something where the image is there.
    ``prefix``: stands before ``NAME:TAG``. ``policy``: when a node pulls; ``timed``: the field of ``Image`` for how
    long it took to get there."""

    host: Host
    bring: tuple[str, ...]
    look: tuple[str, ...] | None = None
    prefix: str = "docker.io/rematch/"
    policy: Literal["Never", "IfNotPresent"] = "Never"
    timed: Literal["import_s", "push_s"] = "import_s"

    @property
    def words(self) -> str:
        """Where images come from, for the record."""
        if self.timed == "push_s":
            return f"pushed to {self.prefix.rstrip('/')}"
        return f"imported by {Path(self.bring[0]).name}"

    def has(self, image: str) -> bool:
        """Whether it is there by its whole name; where no program tells, it is not."""
        if self.look is None:
            return False
        done = self._run(self.look, image=image)
        return done.exit_code == 0 and bool(done.stdout.strip())

    def add(self, archive: Path, image: str) -> None:
        """Bring an archive there. Raises RematchError: the program is not there, or refused it; with its last
        line."""
        done = self._run(self.bring, archive=str(archive), image=image)
        if done.exit_code:
            output = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["nothing"]
            what = "pushed" if self.timed == "push_s" else "imported"
            raise RematchError(f"{' '.join(self.bring[:3])}: the image was not {what}: {output[0][:300]}")

    def _run(self, words: tuple[str, ...], **values: str) -> Completed:
        argv = tuple(word.format(**values) for word in words)
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        try:
            return self.host.run(
                Command(argv=argv, folder=Path("/"), environment=environment), _BROUGHT_WITHIN_S
            )
        except HostError as problem:
            raise RematchError(f"images cannot be brought to the cluster: {problem}") from problem


def store_for(
    host: Host, context: str, kubeconfig: Path, environment: Mapping[str, str] | None = None
) -> ImageStore:
    """Return how images get to the cluster of this context: by the registry that the environment names, else by
    kind's and minikube's own command, else through containerd's socket. Raises InputError: the registry has no such
    name, or no socket is there; MissingTool: skopeo is not on PATH."""
    environment = os.environ if environment is None else environment
    if environment.get(REGISTRY):
        return registry(host, environment)
    if context.startswith("kind-"):
        words = ("kind", "load", "image-archive", "{archive}", "--name", context.removeprefix("kind-"))
        return ImageStore(host=host, bring=words)
    if context == "minikube":
        return ImageStore(host=host, bring=("minikube", "image", "load", "{archive}"))
    named = environment.get(SOCKET)
    usual = ("/run/k3s/containerd/containerd.sock", "/run/containerd/containerd.sock")
    likely = (kubeconfig.with_name("containerd.sock"), *map(Path, usual))
    socket = Path(named) if named else next((path for path in likely if path.is_socket()), None)
    if socket is None or not socket.is_socket():
        raise InputError(
            "no way to import images into the cluster's nodes",
            place=SOCKET,
            found=named or "not set",
            allowed="the path of the node's containerd socket; kind and minikube need none",
        )
    ctr = ("ctr", "-a", str(socket), "-n", "k8s.io", "images")
    return ImageStore(
        host=host, bring=(*ctr, "import", "{archive}"), look=(*ctr, "ls", "-q", "name=={image}")
    )


def registry(host: Host, environment: Mapping[str, str]) -> ImageStore:
    """Return a store that pushes by skopeo, with its credentials: those of ``docker login``, or its own; raises as
    ``store_for``."""
    name = environment[REGISTRY]
    match = _REGISTRY_FORM.fullmatch(name)
    if match is None:
        raise InputError(
            "no registry by its name",
            place=REGISTRY,
            found=name if "@" not in name else "a user before the host",
            allowed="HOST[:PORT][/PATH], such as localhost:5000/rematch",
        )
    if shutil.which("skopeo", path=environment.get("PATH", os.defpath)) is None:
        raise MissingTool(
            "skopeo", why="to push images to a registry", how_to_get="apt-get install -y skopeo"
        )
    plain = match["scheme"] == "http" or (match["scheme"] is None and _LOOPBACK.match(match["place"]))
    verify = "false" if plain else "true"
    return ImageStore(
        host=host,
        bring=(
            "skopeo",
            "copy",
            f"--dest-tls-verify={verify}",
            "docker-archive:{archive}",
            "docker://{image}",
        ),
        look=("skopeo", "inspect", "--raw", f"--tls-verify={verify}", "docker://{image}"),
        prefix=f"{match['place']}/",
        policy="IfNotPresent",
        timed="push_s",
    )


class ClusterImages:
    """Images of builds and of load generators. ``bases``: runtime -> folder with what such a program runs on."""

    def __init__(self, process: ProcessLauncher, store: ImageStore, bases: Mapping[str, Path]) -> None:
        self._process, self.store, self._bases = process, store, dict(bases)
        self._known: dict[str, Image] = {}

    def of_build(self, implementation: Implementation, record: BuildRecord) -> tuple[str, Image]:
        """Return the image of exactly this build, imported or pushed unless it is there.

        Raises RematchError: the build is gone, or the image cannot be made, imported or pushed.
        """
        form = "" if record.form is None else record.form.model_dump_json()
        base = str(self._bases.get(implementation.runtime, ""))
        tag = tag_of(implementation.name, record.source_sha256, record.artifact_sha256, base, form)
        name = self._name(tag)
        built = self._process.builder.find(implementation, record.source_sha256)
        if built is None:
            raise RematchError(f"{implementation.name}: its build is gone from the cache; build it again")

        made = None if record.form is None else record.form.form

        def fill(root: Path) -> None:
            host, service = self._process.builds_on, root / SERVICE.relative_to("/")
            (root / "tmp").mkdir(mode=0o1777)
            if made == "native":
                program = self._process.forms.program(implementation, "native", built.folder)
                lay_out(root, libraries(host, [program]))
                target = service / implementation.artifact
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
            copy_build(built.folder, service)

        return name, self._image(name, fill)

    def of_program(self, program: Path) -> tuple[str, Image]:
        """Return name and image of one program of this machine with the libraries that it loads, at their own paths.

        Raises RematchError: it cannot be made, imported or pushed.
        """
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
        name = self._name(tag_of(program.name, str(program), digest))

        def fill(root: Path) -> None:
            lay_out(root, [program, *libraries(self._process.builds_on, [program])])

        return name, self._image(name, fill)

    def _name(self, tag: str) -> str:
        return self.store.prefix + tag.removeprefix("rematch/")

    def _image(self, name: str, fill: Callable[[Path], None]) -> Image:
        if name not in self._known:
            with tempfile.TemporaryDirectory(prefix="rematch-image-") as folder:
                root, archive = Path(folder) / "root", Path(folder) / "image.tar"
                root.mkdir()
                fill(root)
                image = write_archive(root, name, archive)
                if not self.store.has(name):
                    begin = time.monotonic()
                    self.store.add(archive, name)
                    image = image.model_copy(update={self.store.timed: time.monotonic() - begin})
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

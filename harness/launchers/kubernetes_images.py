# SPDX-License-Identifier: Apache-2.0
"""Where a cluster's nodes have images from: imported by the cluster's own command, or pushed to a registry by skopeo."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import HostError, InputError, MissingTool, RematchError
from harness.hosts.base import Command, Completed, Host

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
class NodeImages:
    """The images of a cluster's nodes, by the commands of a program; see ``ImageStore``. ``bring``: its words, with
    ``{archive}`` and ``{image}``; ``look``: of the command that prints something where the image is there.
    ``policy``: when a node pulls."""

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
        """Return whether an image is there; where no program tells, it is not."""
        if self.look is None:
            return False
        done = self._run(self.look, image=image)
        return done.exit_code == 0 and bool(done.stdout.strip())

    def add(self, archive: Path, image: str) -> None:
        """Bring an archive there. Raises RematchError: the program is not there, or refused it."""
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
) -> NodeImages:
    """Return how images get to the cluster of this context: by the registry that the environment names, else by
    kind's and minikube's own command, else through containerd's socket. Raises InputError: the registry has no such
    name, or no socket is there; MissingTool: skopeo is not on PATH."""
    environment = os.environ if environment is None else environment
    if environment.get(REGISTRY):
        return registry(host, environment)
    if context.startswith("kind-"):
        words = ("kind", "load", "image-archive", "{archive}", "--name", context.removeprefix("kind-"))
        return NodeImages(host=host, bring=words)
    if context == "minikube":
        return NodeImages(host=host, bring=("minikube", "image", "load", "{archive}"))
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
    return NodeImages(
        host=host, bring=(*ctr, "import", "{archive}"), look=(*ctr, "ls", "-q", "name=={image}")
    )


def registry(host: Host, environment: Mapping[str, str]) -> NodeImages:
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
    return NodeImages(
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

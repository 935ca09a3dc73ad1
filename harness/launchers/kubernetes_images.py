# SPDX-License-Identifier: Apache-2.0
"""Images for a cluster's node, imported by the cluster's own command or through containerd's socket."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HostError, InputError, RematchError
from harness.hosts.base import Command, Completed, Host

_BROUGHT_WITHIN_S = 300.0
#: Where programs are, and their sockets.
_PASSED_ON = ("PATH", "XDG_RUNTIME_DIR")
#: Names the containerd socket of the cluster's node.
SOCKET = "REMATCH_CONTAINERD"
#: Named a registry until 0.2.0.
REGISTRY = "REMATCH_REGISTRY"


@dataclass(frozen=True, kw_only=True)
class NodeImages:
    """The images of a cluster's node, by the commands of a program; see ``ImageStore``. ``bring``: its words, with
    ``{archive}``; ``look``: of the command that prints something where ``{image}`` is there."""

    host: Host
    bring: tuple[str, ...]
    look: tuple[str, ...] | None = None
    prefix: str = "docker.io/rematch/"

    @property
    def words(self) -> str:
        """Where images come from, for the record."""
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
            raise RematchError(f"{' '.join(self.bring[:3])}: the image was not imported: {output[0][:300]}")

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
    """Return how images get to the cluster of this context: by kind's and minikube's own command, else through
    containerd's socket. Raises InputError: no socket is there."""
    environment = os.environ if environment is None else environment
    if environment.get(REGISTRY):
        raise InputError(
            "images are imported into the node, and no longer pushed to a registry",
            place=REGISTRY,
            found=environment[REGISTRY].rpartition("@")[2],
            allowed=f"not set; {SOCKET} names a node's containerd socket",
        )
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

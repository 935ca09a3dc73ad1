# SPDX-License-Identifier: Apache-2.0
"""Container images: built by the Docker daemon from a folder, once per content, found again by their tag."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RematchError
from harness.model import Frozen

if TYPE_CHECKING:
    from docker import DockerClient

#: On every image and container that is made here; nothing without it is ever touched.
LABEL = "rematch.project"
OWNER = "rematch.owner"


class Image(Frozen):
    """An image as the daemon has it."""

    id: str
    entrypoint: tuple[str, ...]
    image_bytes: int
    layer_bytes: tuple[int, ...]
    import_s: float | None = (
        None  # into the store of a cluster's node; None: it was there, or is no cluster's
    )
    push_s: float | None = None  # to a registry; None: it was there, or is not pushed


def tag_of(name: str, *identity: str) -> str:
    """Return the tag of an image of exactly this content."""
    return f"rematch/{name}:{hashlib.sha256('|'.join(identity).encode()).hexdigest()[:12]}"


def project_label(root: Path) -> str:
    """Return what tells this project's images and containers from those of another checkout."""
    return hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]


def find_image(client: DockerClient, tag: str) -> Image | None:
    """Return an image, or ``None`` when the daemon has none of that name."""
    import docker.errors

    try:
        result = client.images.get(tag)
    except docker.errors.ImageNotFound:
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
    """Have the image built from a folder with a ``Dockerfile``; no base image is pulled that is here.

    Raises:
        RematchError: the build failed; says the daemon's last words.
    """
    import docker.errors

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
    except (docker.errors.BuildError, docker.errors.APIError) as problem:
        raise RematchError(f"image {tag}: the Docker daemon could not build it: {problem}") from problem
    image = find_image(client, tag)
    if image is None:
        raise RematchError(f"image {tag}: was built and has been removed since")
    return image


def import_root(client: DockerClient, root: Path, tag: str, *, label: str, settings: tuple[str, ...]) -> None:
    """Make a base image of a folder: one layer; ``settings`` are words of a Dockerfile (``ENV PATH=...``).

    Raises:
        RematchError: the build failed.
    """
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

# SPDX-License-Identifier: Apache-2.0
"""From a build to the image it runs in: the service's own ``Dockerfile`` around what was built here.

Where no base image was named, a Java service stands on a trimmed runtime with the libraries it loads, and a
native image on its libraries alone: both from scratch, because nothing need be pulled for that.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RematchError
from harness.launchers.builds import BUILD_FILE, MADE_LATER
from harness.launchers.images import Image, build_image, import_root, project_label, tag_of
from harness.launchers.process import ProcessLauncher
from harness.launchers.rootfs import lay_out, libraries, runtime_root
from harness.model import BuildRecord, Implementation, Variant

if TYPE_CHECKING:
    from docker import DockerClient

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
        """Have the image built.

        Raises:
            RematchError: the daemon could not build it, or the build is gone.
        """
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
            for file in sorted(built.folder.rglob("*")):
                inner = file.relative_to(built.folder)
                if file.is_file() and not _made_later(inner):
                    (context / inner).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, context / inner)
            shutil.copy2(builder.source_folder(implementation) / "Dockerfile", context / "Dockerfile")
            arguments = {"BASE_IMAGE": base}
            return build_image(client, context, tag, label=label, target="prebuilt", arguments=arguments)

    def _base(self, client: DockerClient, root: Path, tag: str, settings: tuple[str, ...]) -> str:
        name, _, version = tag.partition(":")
        base = f"{name}-base:{version}"
        import_root(client, root, base, label=project_label(self._root), settings=settings)
        return base


def _made_later(inner: Path) -> bool:
    """Whether a file of a build's folder came after the build: caches, runtimes, native images, notes."""
    first = inner.parts[0]
    return first.startswith(MADE_LATER) or first == BUILD_FILE

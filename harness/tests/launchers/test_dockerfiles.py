# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile of a service, for whoever runs it without this harness, names what is there and starts it alike."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.tests.support.instances import read_implementation
from harness.tests.support.synthetic import ROOT

#: One that names another folder as its source is built from that one's Dockerfile.
SERVICES = sorted(
    path.parent
    for path in (ROOT / "services").glob("*/*/service.toml")
    if "source" not in tomllib.loads(path.read_text("utf-8"))
)


@pytest.mark.parametrize("service", SERVICES, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_both_images_copy_what_is_there_and_start_alike(service: Path) -> None:
    text = (service / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    begins = [n for n, (word, _) in enumerate(lines) if word == "FROM"]
    stages = [lines[begin:end] for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True)]
    prebuilt, build, built = stages
    artifact = read_implementation(service).artifact
    copied = [rest.split()[:-1] for word, rest in prebuilt if word == "COPY"]
    assert [artifact] in copied
    assert {Path(source).parent for sources in copied for source in sources} == {Path(artifact).parent}
    sources = [source for word, rest in build if word == "COPY" for source in rest.split()[:-1]]
    assert all(list(service.glob(source)) for source in sources)
    starts = [[pair for pair in stage[1:] if pair[0] not in ("COPY", "RUN")] for stage in (prebuilt, built)]
    assert starts[0] == starts[1]

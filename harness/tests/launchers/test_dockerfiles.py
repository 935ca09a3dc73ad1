# SPDX-License-Identifier: Apache-2.0
"""Every service has a Dockerfile that works with registries and without, and names only what is there."""

from __future__ import annotations

import json
import re
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
WORDS = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "ENTRYPOINT", "CMD", "ENV"}
#: The words of it that the old builder does not know.
NEEDS_BUILDKIT = re.compile(r"--(mount|link|chmod|parents|exclude)\b|<<")


def instructions(folder: Path) -> list[tuple[str, str]]:
    """Return the instructions of the folder's Dockerfile, continued lines joined."""
    text = (folder / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in lines]


def stages(folder: Path) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return (name or "", base, instructions) of every stage."""
    found: list[tuple[str, str, list[tuple[str, str]]]] = []
    for word, rest in instructions(folder):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append((name, base, []))
        elif found:
            found[-1][2].append((word, rest))
    return found


@pytest.fixture(params=SERVICES, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def service(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


def test_every_implementation_is_among_them() -> None:
    assert len(SERVICES) >= 13


def test_it_parses_and_needs_no_buildkit(service: Path) -> None:
    found = instructions(service)
    assert {word for word, _ in found} <= WORDS
    assert found[0][0] == "ARG"  # before the first FROM: what follows is FROM ${...}
    assert not [rest for _, rest in found if NEEDS_BUILDKIT.search(rest)]
    for word, rest in found:
        if word in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(one, str) for one in json.loads(rest))


def test_both_images_are_arguments_with_defaults_and_no_stage_names_one(service: Path) -> None:
    told = dict(rest.split("=", 1) for word, rest in instructions(service) if word == "ARG")
    assert set(told) == {"BASE_IMAGE", "BUILD_IMAGE"} and all(told.values())
    names = [name for name, _, _ in stages(service)]
    bases = {base for _, base, _ in stages(service)}
    assert bases == {"${BASE_IMAGE}", "${BUILD_IMAGE}"}
    # the old builder makes every stage above the one that is wanted: the build image would have to be pulled
    assert names[:2] == ["prebuilt", "build"]
    assert len(names) == 3


def test_what_it_copies_is_there_or_made_by_the_build(service: Path) -> None:
    implementation = read_implementation(service)
    for name, _, inside in stages(service):
        for word, rest in inside:
            if word != "COPY":
                continue
            *sources, _target = rest.split()
            if sources[0].startswith("--from="):
                assert sources[0] == "--from=build"
                continue
            for source in sources:
                if name == "prebuilt":  # what the build command of service.toml leaves, or beside it
                    made = Path(implementation.artifact)
                    assert Path(source).parent == made.parent
                else:
                    assert list(service.glob(source)), f"{source} is not in {service}"
        if name == "prebuilt":
            copied = [rest.split()[0] for word, rest in inside if word == "COPY"]
            assert implementation.artifact in copied


def test_the_image_of_the_prebuilt_and_of_the_built_start_alike(service: Path) -> None:
    def started(inside: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [pair for pair in inside if pair[0] not in ("COPY", "RUN")]

    by_name = {name: inside for name, _, inside in stages(service)}
    last = stages(service)[-1][2]
    assert started(by_name["prebuilt"]) == started(last)


def test_it_is_built_there_as_service_toml_builds_it_here(service: Path) -> None:
    implementation = read_implementation(service)
    ran = " && ".join(rest for name, _, inside in stages(service) if name == "build"
                      for word, rest in inside if word == "RUN")  # fmt: skip
    if implementation.runtime == "go":
        wanted = [word for word in implementation.build if word not in ("-o", implementation.artifact)]
        assert all(word in ran.split() for word in wanted)
    elif implementation.runtime == "jvm":
        assert "mvn" in ran and "package" in ran
    else:
        assert implementation.build == () and ran == ""

# SPDX-License-Identifier: Apache-2.0
"""Images pushed to a registry: parts by digest, sent once, named by a manifest; refusals in one line."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import pytest

from harness.errors import HostError, InputError, RematchError
from harness.hosts.local import LocalHost
from harness.launchers.kubernetes_images import ClusterImages, write_archive
from harness.launchers.kubernetes_objects import deployment
from harness.launchers.kubernetes_registry import Registry, registry_of
from harness.launchers.process import ProcessLauncher
from harness.tests.support.recorded_cluster import pods
from harness.tests.support.registry import FakeRegistry, serving

BASIC = f"Basic {base64.b64encode(b'me:secret').decode()}"


@pytest.fixture
def served() -> Iterator[FakeRegistry]:
    with serving() as registry:
        yield registry


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    """An environment whose configuration of Docker is empty."""
    (tmp_path / "docker").mkdir()
    return {"DOCKER_CONFIG": str(tmp_path / "docker")}


def docker_says(config: dict[str, str], **said: object) -> None:
    (Path(config["DOCKER_CONFIG"]) / "config.json").write_text(json.dumps(said))


def archive_of(folder: Path, name: str) -> Path:
    root = folder / "root"
    root.mkdir(exist_ok=True)
    (root / "program").write_bytes(b"x" * 3_000_000)
    archive = folder / "image.tar"
    write_archive(root, name, archive)
    return archive


def answering(status: int, *, code: str = "", headers: dict[str, str] | None = None) -> httpx.MockTransport:
    said = {"errors": [{"code": code, "message": "in its words"}]}
    return httpx.MockTransport(lambda _request: httpx.Response(status, json=said, headers=headers))


def test_an_image_is_there_once_it_is_pushed_and_each_part_has_its_digest(
    tmp_path: Path, served: FakeRegistry, config: dict[str, str]
) -> None:
    registry = Registry(f"{served.host}/rematch", config)
    name = registry.named("rematch/late:1")
    assert name == f"{served.host}/rematch/late:1" and registry.words == f"pushed to {served.host}/rematch"
    assert not registry.has(name)
    registry.add(archive_of(tmp_path, name))
    assert registry.has(name)
    manifest = json.loads(served.manifests["rematch/late", "1"])
    assert manifest["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    image = json.loads(served.blobs["rematch/late", manifest["config"]["digest"]])
    assert image["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]


def test_what_a_registry_has_is_not_sent_again(
    tmp_path: Path, served: FakeRegistry, config: dict[str, str]
) -> None:
    registry = Registry(served.host, config)
    registry.add(archive_of(tmp_path, registry.named("rematch/late:1")))
    served.asked.clear()
    registry.add(archive_of(tmp_path, registry.named("rematch/late:2")))
    assert [one.split()[0] for one in served.asked] == ["HEAD", "HEAD", "PUT"]
    assert {tag for _, tag in served.manifests} == {"1", "2"}


def test_a_push_is_timed_where_the_registry_had_not_the_image(
    served: FakeRegistry, config: dict[str, str]
) -> None:
    program = Path(str(shutil.which("true"))).resolve()
    process = cast(ProcessLauncher, SimpleNamespace(builds_on=LocalHost()))
    first, later = (ClusterImages(process, Registry(served.host, config), {}) for _ in range(2))
    name = first.of_program(program)
    assert later.of_program(program) == name and name.startswith(f"{served.host}/{program.name}:")
    assert first.push_s(name) is not None and later.push_s(name) is None
    assert first.import_s(name) is None
    assert first.policy == "IfNotPresent"


def test_pods_pull_an_image_that_the_node_lacks_from_a_registry_alone() -> None:
    for spec, policy in (
        (pods("one"), "Never"),
        (pods("one", pull_policy="IfNotPresent"), "IfNotPresent"),
    ):
        made = deployment(spec)
        assert made.spec is not None and made.spec.template.spec is not None
        assert made.spec.template.spec.containers[0].imagePullPolicy == policy


def test_a_registry_is_used_where_the_environment_names_one(
    served: FakeRegistry, config: dict[str, str]
) -> None:
    assert registry_of(config) is None and registry_of(config | {"REMATCH_REGISTRY": ""}) is None
    found = registry_of(config | {"REMATCH_REGISTRY": f"{served.host}/a/b"})
    assert found is not None and found.named("rematch/x:1") == f"{served.host}/a/b/x:1"


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("localhost:5000/rematch", "http://localhost:5000"),
        ("localhost", "http://localhost"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("registry:5000/a", "https://registry:5000"),
        ("registry.example.com/team/rematch", "https://registry.example.com"),
        ("http://registry.example.com:80/a", "http://registry.example.com:80"),
        ("https://localhost:5000", "https://localhost:5000"),
    ],
)
def test_the_loopback_is_asked_in_plain_http_and_others_are_not(
    name: str, address: str, config: dict[str, str]
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200)

    Registry(name, config, httpx.MockTransport(answer)).check()
    assert [url.removesuffix("/v2/") for url in asked] == [str(httpx.URL(address))]


@pytest.mark.parametrize("name", ["rematch", "Host/x y", "ftp://host:1/a", "localhost:5000/Upper", "a.b/c:1"])
def test_a_name_that_is_no_registrys_is_refused(name: str, config: dict[str, str]) -> None:
    with pytest.raises(InputError, match="REMATCH_REGISTRY: no registry by its name"):
        registry_of(config | {"REMATCH_REGISTRY": name})


def test_a_password_in_a_name_is_refused_and_not_repeated(config: dict[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        registry_of(config | {"REMATCH_REGISTRY": "me:secret@localhost:5000"})
    assert "secret" not in str(caught.value)


def test_credentials_of_dockers_configuration_are_used_and_never_shown(
    tmp_path: Path, config: dict[str, str]
) -> None:
    with serving(basic=BASIC) as served:
        place = {"REMATCH_REGISTRY": served.host}
        with pytest.raises(HostError, match=f"asks for credentials: docker login {served.host}"):
            registry_of(config | place)
        docker_says(config, auths={served.host: {"auth": BASIC.split()[1]}})
        found = registry_of(config | place)
        assert found is not None
        found.add(archive_of(tmp_path, found.named("rematch/late:1")))
        served.basic = "Basic other"
        with pytest.raises(HostError, match="does not accept the credentials") as caught:
            registry_of(config | place)
    shown = f"{caught.value} {found!r} {vars(found)!r}"
    assert BASIC.split()[1] not in shown and "secret" not in shown


def test_a_credential_helper_is_not_asked_and_it_is_said(config: dict[str, str]) -> None:
    docker_says(config, credsStore="desktop")
    with (
        serving(basic=BASIC) as served,
        pytest.raises(HostError, match=r"config\.json leaves them to a credential helper, which is not"),
    ):
        registry_of(config | {"REMATCH_REGISTRY": served.host})


def test_credentials_do_not_follow_an_upload_to_another_host(tmp_path: Path, config: dict[str, str]) -> None:
    told: list[tuple[str, str | None]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        told.append((request.url.host, request.headers.get("authorization")))
        if request.method == "HEAD":
            return httpx.Response(404)
        if request.method == "POST":
            return httpx.Response(202, headers={"Location": "https://elsewhere.invalid/upload"})
        return httpx.Response(201)

    docker_says(config, auths={"here.invalid": {"auth": BASIC.split()[1]}})
    registry = Registry("here.invalid", config, httpx.MockTransport(answer))
    registry.add(archive_of(tmp_path, registry.named("rematch/late:1")))
    assert set(told) == {("here.invalid", BASIC), ("elsewhere.invalid", None)}


@pytest.mark.parametrize(
    ("transport", "words"),
    [
        (
            answering(403, code="DENIED"),
            "no permission at the registry .* to say whether .*: DENIED: in its words",
        ),
        (answering(500, code="UNKNOWN"), "refused to say whether it has .*: 500: UNKNOWN: in its words"),
        (
            answering(401, headers={"WWW-Authenticate": 'Bearer realm="https://auth.invalid/token"'}),
            "asks for a token, which is not supported",
        ),
    ],
)
def test_what_a_registry_refuses_is_one_line(
    transport: httpx.BaseTransport, words: str, config: dict[str, str]
) -> None:
    registry = Registry("here.invalid", config, transport)
    with pytest.raises(RematchError, match=words) as caught:
        registry.has(registry.named("rematch/late:1"))
    assert "\n" not in str(caught.value)


def test_nobody_at_the_address_and_somebody_else_are_told_apart(config: dict[str, str]) -> None:
    with serving() as served:
        gone = served.host
    with pytest.raises(HostError, match=f"no registry answers at http://{gone}"):
        registry_of(config | {"REMATCH_REGISTRY": gone})
    with pytest.raises(HostError, match=r"is no registry \(GET /v2/: 404\)"):
        registry_of(config | {"REMATCH_REGISTRY": "localhost:1"}, answering(404))


def test_a_part_that_does_not_have_its_digest_is_refused_by_the_registry(
    tmp_path: Path, served: FakeRegistry, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(served.host, config)
    archive = archive_of(tmp_path, registry.named("rematch/late:1"))
    damaged = "harness.launchers.kubernetes_registry._pieces"
    monkeypatch.setattr(damaged, lambda content: iter([bytes(len(content.read()))]))
    with pytest.raises(RematchError, match=r"refused to take a part of late: 400: DIGEST_INVALID"):
        registry.add(archive)
    assert not served.manifests

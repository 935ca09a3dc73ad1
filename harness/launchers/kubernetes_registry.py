# SPDX-License-Identifier: Apache-2.0
"""Images for a cluster's nodes by way of a registry: pushed with its HTTP API, pulled by the nodes themselves.

Blobs are addressed by their digests and sent once; a manifest gives them a name. Anonymous access, and user and
password of Docker's configuration, are supported; tokens and credential helpers are refused with a reason.

Source: the OCI distribution specification 1.1, and the OCI image specification 1.1 for media types.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal
from urllib.parse import quote, urljoin, urlsplit

from harness.errors import HostError, InputError, RematchError

if TYPE_CHECKING:
    import httpx

#: Names the registry that images are pushed to, and a path in it: ``localhost:5000/rematch``.
REGISTRY = "REMATCH_REGISTRY"
#: Of one wait for a registry; it may store a whole layer before it answers.
ANSWER_WITHIN_S, CONNECT_WITHIN_S = 120.0, 10.0
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_PIECE_BYTES = 1 << 20
_FORM = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>localhost|[\w-]+(?:\.[\w-]+)+|\[[0-9a-fA-F:]+\]|[\w.-]+(?=:))"
    r"(?P<port>:\d+)?(?P<path>(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)/?",
    re.ASCII,
)
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|\[::1\]")
_CREATED, _ACCEPTED, _OK, _NOT_FOUND, _UNAUTHORIZED, _FORBIDDEN = 201, 202, 200, 404, 401, 403


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """``basic``: user and password as ``Authorization`` has them, never shown; ``why_not``: why there are none."""

    basic: str | None = field(default=None, repr=False)
    why_not: str | None = None


class Registry:
    """A place for images in a registry; see ``ImageStore``.

    ``environment``: says where Docker's configuration is. ``transport``: what carries requests; ``None``: the network.

    Raises:
        InputError: ``name`` is no host with an optional port and path.
    """

    policy: Literal["IfNotPresent"] = "IfNotPresent"
    timed: Literal["push_s"] = "push_s"

    def __init__(
        self, name: str, environment: Mapping[str, str], transport: httpx.BaseTransport | None = None
    ) -> None:
        import httpx

        match = _FORM.fullmatch(name)
        if match is None:
            raise InputError(
                "no registry by its name",
                place=REGISTRY,
                found=name if "@" not in name else "a user before the host",
                allowed="HOST[:PORT][/PATH], such as localhost:5000/rematch",
            )
        host = match["host"] + (match["port"] or "")
        plain = match["scheme"] == "http" or (match["scheme"] is None and _LOOPBACK.fullmatch(match["host"]))
        self._host, self._path = host, match["path"].strip("/")
        self._address = f"{'http' if plain else 'https'}://{host}"
        self._credentials = credentials_for(host, environment)
        self._http = httpx.Client(
            timeout=httpx.Timeout(ANSWER_WITHIN_S, connect=CONNECT_WITHIN_S),
            trust_env=False,
            transport=transport,
        )

    @property
    def words(self) -> str:
        """Where images come from, for the record."""
        return f"pushed to {'/'.join(filter(None, (self._host, self._path)))}"

    def named(self, tag: str) -> str:
        """Return the name of an image ``rematch/NAME:TAG`` in this registry."""
        return "/".join(filter(None, (self._host, self._path, tag.removeprefix("rematch/"))))

    def check(self) -> None:
        """Ask whether it is a registry that can be used.

        Raises:
            HostError: none answers, or it wants other credentials.
        """
        answer = self._ask("GET", "/v2/", "answer")
        if answer.status_code != _OK:
            raise HostError(
                f"what answers at {self._address} is no registry (GET /v2/: {answer.status_code})"
            )

    def has(self, image: str) -> bool:
        """Whether the registry has an image of this name.

        Raises:
            RematchError: it does not say.
        """
        repository, tag = self._repository(image)
        asked = self._ask(
            "HEAD", f"/v2/{repository}/manifests/{tag}", f"say whether it has {image}", _MANIFEST
        )
        if asked.status_code not in (_OK, _NOT_FOUND):
            raise self._refused(asked, f"say whether it has {image}")
        return asked.status_code == _OK

    def add(self, archive: Path) -> None:
        """Push an archive as ``write_archive`` makes it, by the name that it has there.

        Raises:
            RematchError: the registry refuses a part of it.
        """
        with tarfile.open(archive) as tar:
            (said,) = json.loads(_content(tar, "manifest.json").read())
            repository, tag = self._repository(said["RepoTags"][0])
            parts = [(_CONFIG, said["Config"], said["Config"].removesuffix(".json"))]
            parts += [(_LAYER, layer, layer.split("/")[0]) for layer in said["Layers"]]
            described = []
            for kind, inner, digest in parts:
                size = tar.getmember(inner).size
                described.append({"mediaType": kind, "digest": f"sha256:{digest}", "size": size})
                self._push_blob(repository, f"sha256:{digest}", size, _content(tar, inner))
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": described[0],
            "layers": described[1:],
        }
        what = f"take the manifest of {repository}:{tag}"
        target = f"/v2/{repository}/manifests/{tag}"
        answer = self._ask("PUT", target, what, kind=_MANIFEST, body=json.dumps(manifest).encode())
        if answer.status_code != _CREATED:
            raise self._refused(answer, what)

    def _push_blob(self, repository: str, digest: str, size: int, content: IO[bytes]) -> None:
        what = f"take a part of {repository}"
        if self._ask("HEAD", f"/v2/{repository}/blobs/{digest}", what).status_code == _OK:
            return
        begun = self._ask("POST", f"/v2/{repository}/blobs/uploads/", what)
        if begun.status_code != _ACCEPTED or "location" not in begun.headers:
            raise self._refused(begun, what)
        target = urljoin(str(begun.request.url), begun.headers["location"])
        target += f"{'&' if urlsplit(target).query else '?'}digest={quote(digest, safe='')}"
        answer = self._ask(
            "PUT", target, what, kind="application/octet-stream", body=_pieces(content), size=size
        )
        if answer.status_code != _CREATED:
            raise self._refused(answer, what)

    def _ask(
        self,
        method: str,
        target: str,
        what: str,
        accept: str = "*/*",
        *,
        kind: str | None = None,
        body: bytes | Iterator[bytes] | None = None,
        size: int | None = None,
    ) -> httpx.Response:
        """Return the answer, unless nobody gives one or it is that of a stranger to whom nothing is permitted."""
        import httpx

        url = urljoin(self._address, target)
        headers = {"Accept": accept}
        headers |= {} if kind is None else {"Content-Type": kind}
        headers |= {} if size is None else {"Content-Length": str(size)}
        try:
            # an upload may be sent on to somebody else, who is not to have the password
            if self._credentials.basic is not None and _origin(url) == _origin(self._address):
                headers["Authorization"] = self._credentials.basic
            answer = self._http.request(method, url, headers=headers, content=body)
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            said = str(problem) or type(problem).__name__
            raise HostError(f"no registry answers at {self._address} ({said})") from problem
        if answer.status_code == _UNAUTHORIZED:
            raise HostError(f"the registry at {self._address} {self._unknown(answer)}")
        if answer.status_code == _FORBIDDEN:
            raise HostError(f"no permission at the registry {self._address} to {what}: {_words(answer)}")
        return answer

    def _unknown(self, answer: httpx.Response) -> str:
        """Why it does not know us, and what to do."""
        if answer.headers.get("www-authenticate", "").lower().startswith("bearer"):
            return "asks for a token, which is not supported: use one with anonymous or basic access"
        if self._credentials.basic is not None:
            return "does not accept the credentials of Docker's configuration: docker login"
        why = self._credentials.why_not
        return f"asks for credentials{f': {why}' if why else f': docker login {self._host}'}"

    def _refused(self, answer: httpx.Response, what: str) -> RematchError:
        said = _words(answer)
        return RematchError(
            f"the registry at {self._address} refused to {what}: {answer.status_code}: {said}"
        )

    def _repository(self, image: str) -> tuple[str, str]:
        """Return repository and tag of an image's whole name."""
        repository, _, tag = image.removeprefix(f"{self._host}/").rpartition(":")
        return repository, tag


def registry_of(
    environment: Mapping[str, str] | None = None, transport: httpx.BaseTransport | None = None
) -> Registry | None:
    """Return the registry that is asked for, if it can be used; ``None``: none is.

    Raises:
        InputError: it has no such name.
        HostError: it cannot be used; says why.
    """
    environment = os.environ if environment is None else environment
    name = environment.get(REGISTRY)
    if not name:
        return None
    result = Registry(name, environment, transport)
    result.check()
    return result


def credentials_for(host: str, environment: Mapping[str, str]) -> Credentials:
    """Return what Docker's configuration has for a registry. Nobody is asked: helpers' credentials are not taken."""
    folder = environment.get("DOCKER_CONFIG") or str(Path(environment.get("HOME", "/")) / ".docker")
    file = Path(folder) / "config.json"
    try:
        document = json.loads(file.read_text())
        known = document.get("auths", {}).get(host) or {}
        if isinstance(known.get("auth"), str) and known["auth"]:
            return Credentials(basic=f"Basic {known['auth']}")
        if document.get("credsStore") or host in document.get("credHelpers", {}):
            return Credentials(why_not=f"{file} leaves them to a credential helper, which is not supported")
    except FileNotFoundError:
        return Credentials()
    except (OSError, ValueError, AttributeError) as problem:
        return Credentials(why_not=f"{file} cannot be read: {type(problem).__name__}")
    return Credentials()


def _origin(url: str) -> tuple[str, str, int | None]:
    import httpx

    parts = httpx.URL(url)
    return parts.scheme, parts.host, parts.port


def _content(tar: tarfile.TarFile, inner: str) -> IO[bytes]:
    result = tar.extractfile(inner)
    assert result is not None, "a file"
    return result


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    while piece := content.read(_PIECE_BYTES):
        yield piece


def _words(answer: httpx.Response) -> str:
    """What a registry says of its refusal, in one line."""
    try:
        said = answer.json()["errors"][0]
        return f"{said.get('code', '')}: {said.get('message', '')}"[:300]
    except (ValueError, LookupError, TypeError, AttributeError):
        return " ".join(answer.text.split())[:300] or answer.reason_phrase


__all__ = ["REGISTRY", "Credentials", "Registry", "credentials_for", "registry_of"]

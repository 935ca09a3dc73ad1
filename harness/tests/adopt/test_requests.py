# SPDX-License-Identifier: Apache-2.0
"""Requests are read from curl lines, HAR files and OpenAPI documents; what cannot be asked is named with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.adopt.requests import read_requests
from harness.errors import InputError


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


def test_curl_lines_give_method_path_headers_and_body(tmp_path: Path) -> None:
    text = (
        "# two calls\ncurl -s 'http://localhost:8080/items?limit=2' -H 'Accept: text/plain' -H 'Cookie: a=b'\n"
        'curl -X PUT http://localhost:8080/items/1 \\\n  --json \'{"name": "a"}\'\n'
        "curl -u joe:secret localhost:8080/\n"
    )
    first, second, third = read_requests(written(tmp_path, "calls.sh", text)).asked
    assert (first.method, first.path, first.headers) == ("GET", "/items?limit=2", {"Accept": "text/plain"})
    assert (second.method, second.path, second.body) == ("PUT", "/items/1", '{"name": "a"}')
    assert second.headers["Content-Type"] == "application/json"
    assert third.headers == {"Authorization": "Basic am9lOnNlY3JldA=="} and third.path == "/"
    assert len({first.name, second.name, third.name}) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("curl http://a/\ncurl --proxy b http://a/\n", "line 2: not understood; found '--proxy'"),
        ("curl -d @file http://a/\n", "line 1: data of a file"),
        ("curl http://a/\nwget http://a/\n", "line 2: no curl line"),
        ("hello: world\n", "lists no requests"),
    ],
)
def test_a_line_that_is_not_understood_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_requests(written(tmp_path, "calls.sh", text))
    assert words in str(refused.value)


def test_a_har_file_gives_the_requests_to_its_first_host(tmp_path: Path) -> None:
    entries = [
        {"request": {"method": "GET", "url": url, "headers": [{"name": "sec-fetch-mode", "value": "cors"}]}}
        for url in ("http://a:1/x?y=1", "http://b/other", "http://a:1/x?y=1")
    ]
    found = read_requests(written(tmp_path, "a.har", json.dumps({"log": {"entries": entries}})))
    assert [(one.path, one.headers) for one in found.asked] == [("/x?y=1", {})]
    assert found.left_out == ("GET /other: of b, not of a:1",)


def test_an_openapi_document_gives_what_can_be_asked_and_says_what_cannot(tmp_path: Path) -> None:
    text = """
openapi: 3.0.3
servers: [{url: http://localhost/api}]
paths:
  /items/{id}:
    get:
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer, minimum: 7}}
        - {name: sort, in: query, required: true, schema: {enum: [up, down]}}
        - {name: page, in: query, schema: {type: integer}}
    delete:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
  /items:
    post:
      requestBody: {$ref: '#/components/requestBodies/item'}
components:
  requestBodies:
    item: {content: {application/json: {example: {name: a}}}}
"""
    found = read_requests(written(tmp_path, "openapi.yaml", text))
    assert [(one.method, one.path, one.body) for one in found.asked] == [
        ("GET", "/api/items/7?sort=up", None),
        ("POST", "/api/items", '{"name": "a"}'),
    ]
    (left,) = found.left_out
    assert left.startswith("DELETE /items/{id}: it may change something")

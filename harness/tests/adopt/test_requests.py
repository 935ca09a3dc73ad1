# SPDX-License-Identifier: Apache-2.0
"""Requests are read from curl lines and OpenAPI documents; what cannot be asked is named with a reason."""

from __future__ import annotations

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
    assert (first.method, first.path) == ("GET", "/items?limit=2")
    assert first.headers == {"Accept": "text/plain", "Cookie": "a=b"}
    assert (second.method, second.path, second.body) == ("PUT", "/items/1", '{"name": "a"}')
    assert second.headers["Content-Type"] == "application/json"
    assert third.headers == {"Authorization": "Basic am9lOnNlY3JldA=="} and third.path == "/"
    assert len({first.name, second.name, third.name}) == 3


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("curl -sSXPOST http://a/x -d a=1 -d b=2", ("POST", "/x", "a=1&b=2")),
        ("curl -XDELETE a/x", ("DELETE", "/x", None)),
        ("curl -H'X-A: b' --url=http://a/x", ("GET", "/x", None)),
        ("curl -G http://a/x?c=3 -d a=1 --data-urlencode 'q=a b&c'", ("GET", "/x?c=3&a=1&q=a%20b%26c", None)),
        (
            "curl 'http://a/x' --data-raw $'{\"a\":\"it\\'s\\\\n\\u00e4\"}' ;",
            ("POST", "/x", '{"a":"it\'s\\nä"}'),
        ),
        ("curl http://a/x -d @body.json", ("POST", "/x", '{"n": 1}')),
        ("curl http://a/x --data-binary @body.json", ("POST", "/x", '{"n":\n 1}\n')),
        ("curl -I 'http://[::1]:3000/x'", ("HEAD", "/x", None)),
        ("curl http://a/x -d '{\n# no comment\n}'", ("POST", "/x", "{\n# no comment\n}")),
    ],
)
def test_a_line_is_read_as_curl_reads_it(
    tmp_path: Path, line: str, asked: tuple[str, str, str | None]
) -> None:
    written(tmp_path, "body.json", '{"n":\n 1}\n')
    (one,) = read_requests(written(tmp_path, "calls.curl", f"# it's one\n{line}\n")).asked
    assert (one.method, one.path, one.body) == asked


def test_headers_are_part_of_what_is_asked(tmp_path: Path) -> None:
    lines = (
        "curl http://a/x -H 'Authorization: Bearer t'", "curl http://a/x", "curl http://a/x --compressed",
        "curl http://a/x -b 'a=1; b=2' -A agent -e http://b/ -H 'Host: shop' -H 'Accept-Encoding: br'",
        "curl http://a/x",
    )  # fmt: skip
    found = read_requests(written(tmp_path, "calls.curl", "\r\n".join(lines)))
    assert [one.headers for one in found.asked] == [
        {"Authorization": "Bearer t"}, {}, {"Accept-Encoding": "gzip, deflate"},
        {"Cookie": "a=1; b=2", "User-Agent": "agent", "Referer": "http://b/", "Accept-Encoding": "br"},
    ]  # fmt: skip
    assert len({one.name for one in found.asked}) == 4
    assert found.remarks == ("Host of GET /x: it is of the connection",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("curl http://a/\ncurl --proxy b http://a/\n", "line 2: option --proxy not recognized; found '--proxy'"),
        ("curl http://a/\n\ncurl \\\n -d @file http://a/\n", "line 3: its data cannot be read"),
        ("curl -b jar http://a/\n", "line 1: cookies of a file"),
        ("curl http://a/ http://b/\n", "line 1: a curl line has one URL"),
        ("curl 'http://a/\n", "line 1: No closing quotation"),
        ("curl http://a/\nwget http://a/\n", "line 2: no curl line"),
        ("hello: world\n", "lists no requests"),
        ('{"log": {"entries": []}}', "a HAR file is not read"),
    ],
)
def test_a_line_that_is_not_understood_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_requests(written(tmp_path, "calls.sh", text))
    assert words in str(refused.value)


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
    get: {parameters: [{$ref: '#/components/parameters/page'}]}
    post: {}
components:
  parameters:
    page: {name: page, in: query, required: true, example: 3}
"""
    found = read_requests(written(tmp_path, "openapi.yaml", text))
    assert [(one.method, one.path) for one in found.asked] == [
        ("GET", "/api/items/7?sort=up"), ("GET", "/api/items?page=3"),
    ]  # fmt: skip
    assert [left.partition(":")[0] for left in found.left_out] == ["DELETE /items/{id}", "POST /items"]

# SPDX-License-Identifier: Apache-2.0
"""What a service is asked is read from curl lines and OpenAPI documents; right answers are what two processes agree on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from harness.adopt.curl import Call
from harness.adopt.recording import record
from harness.adopt.requests import read_requests
from harness.agent.http_exchange import Answer
from harness.conformance import answer_fault
from harness.errors import InputError
from harness.tests.support.result_files import write
from harness.workloads import load_all_requests, load_cases


def test_curl_lines_give_method_path_headers_and_body(tmp_path: Path) -> None:
    text = (
        "# two calls\ncurl -s 'http://localhost:8080/items?limit=2' -H 'Accept: text/plain' -H 'Cookie: a=b'\n"
        'curl -X PUT http://localhost:8080/items/1 \\\n  --json \'{"name": "a"}\'\n'
        "curl -u joe:secret localhost:8080/\n"
    )
    first, second, third = read_requests(write(tmp_path / "calls.sh", text)).asked
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
def test_a_line_is_read_as_by_curl(tmp_path: Path, line: str, asked: tuple[str, str, str | None]) -> None:
    write(tmp_path / "body.json", '{"n":\n 1}\n')
    (one,) = read_requests(write(tmp_path / "calls.curl", f"# it's one\n{line}\n")).asked
    assert (one.method, one.path, one.body) == asked


def test_headers_are_part_of_what_is_asked(tmp_path: Path) -> None:
    lines = (
        "curl http://a/x -H 'Authorization: Bearer t'", "curl http://a/x", "curl http://a/x --compressed",
        "curl http://a/x -b 'a=1; b=2' -A agent -e http://b/ -H 'Host: shop' -H 'Accept-Encoding: br'",
        "curl http://a/x",
    )  # fmt: skip
    found = read_requests(write(tmp_path / "calls.curl", "\r\n".join(lines)))
    assert [one.headers for one in found.asked] == [
        {"Authorization": "Bearer t"}, {}, {"Accept-Encoding": "gzip, deflate"},
        {"Cookie": "a=1; b=2", "User-Agent": "agent", "Referer": "http://b/", "Accept-Encoding": "br"},
    ]  # fmt: skip
    assert len({one.name for one in found.asked}) == 4
    assert found.remarks == ("Host of GET /x: it is of the connection",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "curl http://a/\ncurl --proxy b http://a/\n",
            "line 2: option --proxy not recognized; found '--proxy'",
        ),
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
        read_requests(write(tmp_path / "calls.sh", text))
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
    found = read_requests(write(tmp_path / "openapi.yaml", text))
    assert [(one.method, one.path) for one in found.asked] == [
        ("GET", "/api/items/7?sort=up"), ("GET", "/api/items?page=3"),
    ]  # fmt: skip
    assert [left.partition(":")[0] for left in found.left_out] == ["DELETE /items/{id}", "POST /items"]


ASKED = Call(name="get-a", method="GET", path="/a")


def answer(body: str, status: int = 200) -> Answer:
    return Answer(status, {"content-type": "application/json"}, body.encode(), 0.0)


def test_places_that_change_are_masked_and_all_others_are_held_against_the_answer(tmp_path: Path) -> None:
    bodies = [f'{{"a": 3000.00, "at": "{at}", "list": [{{"n": {at}}}, 2]}}' for at in (1, 2, 3)]
    (one,) = record([ASKED], *([answer(body)] for body in bodies)).recorded
    assert one.volatile == ("/at", "/list/0/n") and one.repeatable
    (tmp_path / "cases.jsonl").write_text(one.case_line() + "\n", "utf-8")
    (case,) = load_cases(tmp_path)
    assert answer_fault(answer('{"list": [{"n": null}, 2], "at": 4.5, "a": 3000.0}'), case.expect) is None
    for wrong in (
        '{"a": 3001.0, "at": 4, "list": [{"n": 1}, 2]}',
        '{"a": 3000.0, "list": [{"n": 1}, 2]}',
        '{"a": 3000.0, "at": 4, "list": [{}, 2]}',
        "no JSON",
    ):
        assert answer_fault(answer(wrong), case.expect) is not None, wrong


def test_under_load_an_answer_is_compared_whole_or_by_its_status(tmp_path: Path) -> None:
    same = [answer('{\n "a": 3000.00\n}')]
    other = Call(name="get-b", method="GET", path="/b")
    changing = ([answer('{"n": 1}')], [answer('{"n": 2}')], [answer('{"n": 1}')])
    found = [*record([ASKED], same, same, same).recorded, *record([other], *changing).recorded]
    lines = "".join(f"{one.request_line('mix')}\n" for one in found)
    (tmp_path / "requests.jsonl").write_text(lines, "utf-8")
    whole, status = load_all_requests(tmp_path)
    assert str(json.loads(lines.split("\n")[0])["expect"]["json"]) == "{'a': 3000.0}" and "3000.00" in lines
    assert whole.expect.json_value == {"a": 3000.0}
    assert status.expect.json_value is None and status.expect.status == 200


def test_a_packed_answer_is_compared_by_what_is_in_it_and_has_to_be_packed(tmp_path: Path) -> None:
    def packed(body: str, level: int) -> Answer:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return Answer(200, headers, gzip.compress(body.encode(), level), 0.0)

    bodies = ('{"a": 1, "at": 1}', '{"a": 1, "at": 2}', '{"a": 1, "at": 3}')
    (one,) = record([ASKED], *([packed(body, n + 1)] for n, body in enumerate(bodies))).recorded
    (tmp_path / "cases.jsonl").write_text(one.case_line() + "\n", "utf-8")
    (case,) = load_cases(tmp_path)
    expected = case.expect
    assert expected.volatile == ("/at",) and answer_fault(packed('{"at": 4, "a": 1}', 9), expected) is None
    assert answer_fault(packed('{"at": 4, "a": 2}', 9), case.expect) is not None
    assert "Content-Encoding" in (answer_fault(answer('{"at": 4, "a": 1}'), case.expect) or "")


def test_what_is_answered_once_only_is_a_case_and_no_load() -> None:
    first, again = [answer("{}", 201)], [answer("{}", 409)]
    (one,) = record([ASKED], first, again, first).recorded
    assert not one.repeatable and "status 409" in (one.note or "")
    found = record([ASKED], [answer("{}", 500)], first, first)
    assert not found.recorded and found.left_out == ("GET /a: answered with 500",)

# SPDX-License-Identifier: Apache-2.0
"""Cases are read strictly and compared exactly; every failure is one short line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from harness.agent.http_exchange import Answer
from harness.conformance import SHOWN, answer_fault, applicable, check
from harness.errors import InputError
from harness.measure.runner.start_up import wait_first_response
from harness.model import Endpoint, Expectation
from harness.tests.contracts.launcher import HELLO
from harness.tests.support.accounts_server import accounts_server
from harness.tests.support.available import patient
from harness.tests.support.instances import CONTRACT, Project
from harness.tests.support.scripted_server import CLOSE, RESET, scripted
from harness.workloads import Case, load_all_requests, load_cases

CASES = load_cases(CONTRACT)
GOOD = (CONTRACT / "cases.jsonl").read_text("utf-8").splitlines()[0]
GZIP: dict[str, Any] = {"content-encoding": "gzip"}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.close()


def answer(body: bytes, status: int = 200, **headers: str) -> Answer:
    return Answer(status=status, headers=headers, body=body, received_monotonic_s=0.0)


def expect(**said: object) -> Expectation:
    return Expectation.model_validate_json(json.dumps({"status": 200, **said}))


def launched(project: Project, **settings: int) -> Endpoint:
    instance = project.launch(**settings)
    wait_first_response(instance, HELLO, patient(20))
    return instance.endpoint


def test_a_right_service_fulfils_every_case_of_its_face_and_language(project: Project) -> None:
    endpoint = launched(project)
    result = check(endpoint, CASES, "matched", "python")
    assert (result.n_cases, result.failures) == (6, ())
    assert check(endpoint, CASES, "published", "python").n_cases == 1
    assert check(endpoint, CASES, "matched", "java").n_cases == 7


def test_a_wrong_answer_is_one_line_with_case_expected_and_found(project: Project) -> None:
    result = check(launched(project, wrong_answers=1), CASES, "matched", "python")
    assert result.failures == ("""hello: expected '{"v":"HELLO"}', got '{"v":"wrong"}'""",)


def test_every_case_is_checked_when_the_service_dies_on_the_way(project: Project) -> None:
    result = check(launched(project, crash_after=1), CASES, "matched", "python")
    assert result.n_cases == 6
    names = [line.split(":")[0] for line in result.failures]
    assert names == ["hello", "count", "long", "bytes", "unknown-path"]
    assert all("got no answer" in line for line in result.failures)


@pytest.mark.parametrize(
    ("case", "asked", "applies"),
    [
        ({"services": ("go-kit", "go-nethttp")}, {"service": "go-kit"}, True),
        ({"services": ("go-kit", "go-nethttp")}, {"service": "java-helidon"}, False),
        ({"services": ("go-kit", "go-nethttp")}, {"service": None}, False),
        ({"settings": {"minor_percent": 0}}, {"settings": {}}, True),
        ({"settings": {"minor_percent": 0}}, {"settings": {"minor_percent": 0}}, True),
        ({"settings": {"minor_percent": 0}}, {"settings": {"minor_percent": 50}}, False),
        ({"language": "java"}, {}, False),
        ({"language": None}, {}, True),
    ],
)
def test_a_case_is_for_what_it_names(case: dict[str, object], asked: dict[str, Any], applies: bool) -> None:
    named = CASES[0].model_copy(update={"name": "named", **case})
    assert (named in applicable((*CASES, named), named.face, "go", **asked)) == applies


@pytest.mark.parametrize(
    ("found", "wanted", "fault"),
    [
        (answer(b"x"), expect(body="x"), None),
        (answer(b"x\n"), expect(body="x"), r"expected 'x', got 'x\n'"),
        (answer(b'{"b":2,"a":1}'), expect(json={"a": 1, "b": 2}), None),
        (answer(b'{"v":5}'), expect(json={"v": "5"}), """expected JSON {"v": "5"}, got '{"v":5}'"""),
        (answer(b'{"v":1}'), expect(json={"v": True}), """expected JSON {"v": true}, got '{"v":1}'"""),
        (answer(b"null"), expect(json=None), None),
        (answer(b"1"), expect(json=None), "expected JSON null, got '1'"),
        (answer(b"<p>"), expect(json={}), "expected JSON {}, got '<p>'"),
        (answer(b'{"v":2}'), expect(one_of=[{"v": 1}, {"v": 2}]), None),
        (answer(b'{"v":"2"}'), expect(one_of=[1, {"v": 2}]), """expected one of [1, {"v": 2}], got '{"v":"2"}'"""),
        (answer(b"any"), expect(), None),
        (answer(b"no", 404), expect(), "expected status 200, got 404 'no'"),
        (answer(b"", allow="GET"), expect(headers={"Allow": "GET"}), None),
        (answer(b"", allow="get"), expect(headers={"Allow": "GET"}), "expected header Allow: GET, got get"),
        (answer(b""), expect(headers={"Allow": "GET"}), "expected header Allow: GET, got none"),
        (answer(b"\xff"), expect(body="x"), r"expected 'x', got '\\xff'"),
        (answer(gzip.compress(b'{"a": 1}'), **GZIP), expect(json={"a": 1}), None),
        (answer(b"no gzip", **GZIP), expect(body="x"), "expected 'x', got 'no gzip'"),
    ],
)  # fmt: skip
def test_bodies_are_compared_as_bytes_or_json(found: Answer, wanted: Expectation, fault: str | None) -> None:
    assert answer_fault(found, wanted) == fault


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"at": "x" * 90, "rows": [{"n": 1}, {"n": 3}]}, "/rows/1/n: expected 2, got 3"),
        ({"at": "x" * 90, "rows": [{"n": 1}]}, "/rows: expected 2 values, got 1"),
        ({"rows": [{"n": 1}, {"n": 2}], "a": 1}, "/at is missing"),
        ({"at": "x" * 90, "rows": [{"n": 1}, {"n": 2, "m": 0}]}, "/rows/1/m is too much"),
    ],
)
def test_of_long_json_the_first_place_that_differs_is_shown(changed: JsonValue, fault: str) -> None:
    right = expect(json={"at": "x" * 90, "rows": [{"n": 1}, {"n": 2}]})
    assert answer_fault(answer(json.dumps(changed).encode()), right) == fault


def test_long_bodies_are_cut_to_the_place_where_they_differ() -> None:
    fault = answer_fault(answer(b"y" * 200 + b"b"), expect(body="y" * 200 + "a"))
    assert fault == f"at byte 200: expected '{'y' * 20}a', got '{'y' * 20}b'"
    assert len(answer_fault(answer(b"y" * 100_000), expect(body="x" * 100_000)) or "") < 3 * SHOWN


def test_a_refusal_whose_answer_was_lost_by_a_reset_gets_one_more_chance() -> None:
    case = Case.model_validate_json(
        '{"name": "big", "face": "matched", "request": {"method": "POST", "path": "/", "body": "xx"},'
        ' "expect": {"status": 413}}'
    )
    no = b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n"
    with scripted([RESET], [no]) as (endpoint, _):
        assert check(endpoint, [case], "matched", "go").failures == ()
    with scripted([RESET], [RESET], [no]) as (endpoint, _):
        assert "got no answer" in check(endpoint, [case], "matched", "go").failures[0]


def test_a_lost_answer_of_a_good_request_gets_no_second_chance() -> None:
    good = next(case for case in CASES if case.name == "hello")
    ok = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"v":"HELLO"}'
    with scripted([CLOSE], [ok]) as (endpoint, _):
        assert len(check(endpoint, [good], "matched", "go").failures) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"cases\.jsonl: line 3: not JSON: .*column 2; found '\{'"),
        ("[]", r"cases\.jsonl: line 3: "),
        ('{"name": "a"}', r"line 3: face: missing key .*allowed: capture, expect, face"),
        ('{"name": "a", "face": "matt"}', r"line 3: face: .*'published', 'repaired' or 'matched'.*; found 'matt'"),
        (GOOD.replace('"face"', '"colour": 1, "face"'), r"line 3: colour: .*allowed: capture, expect, face, language"),
        (GOOD.replace('"path"', '"body": "", "body_base64": "", "path"'), "line 3: request: .*at most one of body, "),
        (GOOD.replace('"path"', '"body_base64": "?", "path"'), "line 3: request: .*body_base64"),
    ],
)  # fmt: skip
def test_a_broken_case_names_file_line_and_place(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "cases.jsonl").write_text(f"{GOOD}\n\n{line}\n")
    with pytest.raises(InputError, match=message):
        load_cases(tmp_path)


def test_two_cases_of_one_name_and_a_missing_contract_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cases\.jsonl: cannot be read \(No such file"):
        load_cases(tmp_path)
    (tmp_path / "cases.jsonl").write_text(f"{GOOD}\n{GOOD}\n")
    with pytest.raises(InputError, match="case 2: two cases of one name; found 'health'"):
        load_cases(tmp_path)


def test_requests_of_a_mix_keep_their_order_and_weights() -> None:
    requests = load_all_requests(CONTRACT)
    both = [(request.name, request.weight) for request in requests if request.mix == "both"]
    assert both == [("uppercase-hello", 2), ("count-hello", 1)]


def test_separators_that_are_no_line_ends_stay_in_a_body(tmp_path: Path) -> None:
    request = {"name": "n", "face": "matched", "request": {"method": "POST", "path": "/", "body": "a\u2028b"}}
    line = json.dumps({**request, "expect": {"status": 200}}, ensure_ascii=False)
    (tmp_path / "cases.jsonl").write_text(line + "\n", encoding="utf-8")
    assert load_cases(tmp_path)[0].request.body == "a\u2028b"


def case_line(name: str, method: str, path: str, status: int = 200, **more: object) -> str:
    body = {"body": more.pop("body")} if "body" in more else {}
    headers = {"headers": more.pop("headers")} if "headers" in more else {}
    wanted: dict[str, object] = {key: more.pop(key) for key in ("json", "one_of") if key in more}
    expected: dict[str, object] = {"status": status, **wanted}
    request = {"method": method, "path": path, **body, **headers}
    return json.dumps({"name": name, "face": "matched", "request": request, "expect": expected, **more})


OPEN = case_line("open", "POST", "/account", capture={"a": "/id", "owner": "/more/1/owner"})
TRANSFER = case_line(
    "transfer", "POST", "/transfer", headers={"X-Owner": "${owner}"}, body='{"from":${a},"to":${a}}',
    capture={"t": "/id"}, one_of=[{"id": "${t}", "from": "${a}", "state": "done"}],
)  # fmt: skip
SHOW = case_line("show", "GET", "/account/${a}", json={"owner": "${owner}"})


def cases_of(folder: Path, *lines: str) -> tuple[Case, ...]:
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n")
    return load_cases(folder)


def test_what_one_case_captures_goes_into_the_cases_after_it(tmp_path: Path) -> None:
    cases = cases_of(tmp_path, OPEN, TRANSFER, SHOW)
    with accounts_server() as server:
        assert check(server.endpoint, cases, "matched", "go").failures == ()
        assert dict(server.seen) == {"/account": 1, "/transfer": 1, "/account/": 1}


def test_a_case_that_needs_a_capture_of_a_failed_case_fails_with_that_reason(tmp_path: Path) -> None:
    cases = cases_of(tmp_path, OPEN, TRANSFER, SHOW)
    with accounts_server(("500",)) as server:
        failures = check(server.endpoint, cases, "matched", "go").failures
        assert dict(server.seen) == {"/account": 1}
    assert failures == (
        """open: expected status 200, got 500 '{"error":"internal"}'""",
        "transfer: not asked: it needs owner of open, which failed",
        "show: not asked: it needs a of open, which failed",
    )


def test_an_answer_without_what_is_to_be_captured_is_a_failure_of_its_case(tmp_path: Path) -> None:
    with accounts_server(("no id",)) as server:
        failures = check(server.endpoint, cases_of(tmp_path, OPEN), "matched", "go").failures
    assert failures == ("""open: nothing to capture as a: the answer has no /id; got '{"owner":"o-0"}'""",)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            (SHOW, OPEN),
            r"line 1: show: used before it is captured; found '\$\{a\}'; allowed: nothing is captured",
        ),
        ((OPEN.replace('"matched"', '"published"'), SHOW), "line 2: show: used before it is captured"),
        (
            (OPEN.replace('"face"', '"language": "go", "face"'), SHOW),
            "line 2: show: used before it is captured",
        ),
        ((OPEN, "", OPEN.replace('"open"', '"again"')), r"line 3: again: captured a second time; found 'a'"),
    ],
)
def test_captures_hold_along_the_order(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=r"cases\.jsonl: " + message):
        cases_of(tmp_path, *lines)


def test_in_a_file_without_captures_what_looks_like_a_place_is_text(tmp_path: Path) -> None:
    (case,) = cases_of(tmp_path, case_line("n", "POST", "/", body="${a}"))
    assert case.request.body_bytes() == b"${a}"

# SPDX-License-Identifier: Apache-2.0
"""Right answers are what two processes agree on; what changes is masked, and nothing else is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from harness.adopt.recording import record
from harness.adopt.curl import Asked
from harness.agent.http_exchange import Answer
from harness.conformance import answer_fault
from harness.workloads import load_all_requests, load_cases

ASKED = Asked(name="get-a", method="GET", path="/a")


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
    other = Asked(name="get-b", method="GET", path="/b")
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
    assert (
        case.expect.volatile == ("/at",) and answer_fault(packed('{"at": 4, "a": 1}', 9), case.expect) is None
    )
    assert answer_fault(packed('{"at": 4, "a": 2}', 9), case.expect) is not None
    assert "Content-Encoding" in (answer_fault(answer('{"at": 4, "a": 1}'), case.expect) or "")


def test_what_is_answered_once_only_is_a_case_and_no_load() -> None:
    first, again = [answer("{}", 201)], [answer("{}", 409)]
    (one,) = record([ASKED], first, again, first).recorded
    assert not one.repeatable and "status 409" in (one.note or "")
    found = record([ASKED], [answer("{}", 500)], first, first)
    assert not found.recorded and found.left_out == ("GET /a: answered with 500",)

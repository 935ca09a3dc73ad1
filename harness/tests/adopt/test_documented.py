# SPDX-License-Identifier: Apache-2.0
"""An answer is held against the OpenAPI document of its service: what contradicts it is named, nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.adopt.recording import record
from harness.adopt.requests import read_requests
from harness.adopt.requests.asked import Asked
from harness.adopt.requests.documented import documented
from harness.agent.http_exchange import Answer

ORDER = {
    "type": "object",
    "required": ["id", "state"],
    "properties": {
        "id": {"type": "integer"},
        "state": {"enum": ["open", "closed"]},
        "note": {"type": "string", "nullable": True},
        "lines": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}},
    },
}
LINE = {"type": "object", "required": ["sku"], "properties": {"sku": {"type": ["string", "null"]}}}
DOCUMENT: dict[str, Any] = {"components": {"schemas": {"Order": ORDER, "Line": LINE}}}
REFERENCE = {"$ref": "#/components/schemas/Order"}


def of_json(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def faults(value: Any, schema: Any = REFERENCE, status: int = 200) -> tuple[str, ...]:
    said = documented(DOCUMENT, {"responses": {"200": of_json(schema), "404": {"description": "none"}}})
    return said.contradictions(status, json.dumps(value))


def test_an_answer_as_the_document_has_it_contradicts_nothing() -> None:
    assert faults({"id": 1, "state": "open", "note": None, "lines": [{"sku": None}], "more": 1}) == ()
    assert faults({"id": 1.0, "state": "closed"}) == ()
    assert faults({"error": "none"}, status=404) == ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"id": 1}, "/state is missing"),
        ({"id": "1", "state": "open"}, "/id is a string, where the document has integer"),
        ({"id": True, "state": "open"}, "/id is a boolean, where the document has integer"),
        ({"id": 1, "state": "lost"}, '/state is "lost", which is not among the values of the document'),
        ({"id": 1, "state": "open", "lines": [{"sku": "a"}, {}]}, "/lines/1/sku is missing"),
        ([], "the body is an array, where the document has object"),
    ],
)
def test_what_differs_is_named_with_its_place(value: Any, said: str) -> None:
    assert faults(value) == (said,)


def test_a_status_or_body_that_the_document_does_not_have_is_named() -> None:
    assert faults({}, status=500) == ("status 500, where the document has 200, 404",)
    said = documented(DOCUMENT, {"responses": {"2XX": of_json(REFERENCE), "default": {}}})
    assert said.contradictions(201, "no JSON") == ("no JSON body, where the document has one",)
    assert said.contradictions(503, "no JSON") == ()


def test_forms_that_are_put_together_are_checked() -> None:
    either = {"oneOf": [{"type": "string"}, REFERENCE]}
    assert faults("a", either) == () and faults({"id": 1, "state": "open"}, either) == ()
    assert faults(1, either) == ("the body fits none of the 2 forms of the document",)
    both = {"allOf": [REFERENCE, {"required": ["at"]}]}
    assert faults({"id": 1, "state": "open"}, both) == ("/at is missing",)
    closed = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    assert faults({"a": 1, "b": 2}, closed) == ("/b is not in the document",)


@pytest.mark.parametrize(
    "schema", [None, {"$ref": "other.yaml"}, {"allOf": 1, "properties": [], "required": 2}]
)
def test_a_schema_that_says_nothing_refuses_nothing(schema: Any) -> None:
    assert faults({"a": 1}, schema) == ()
    assert documented(DOCUMENT, {"responses": None}).contradictions(500, None) == ()


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    document = {"a": {"allOf": [{"$ref": "#/a"}, {"type": "object"}]}}
    said = documented(document, {"responses": {"200": of_json({"$ref": "#/a"})}})
    assert len(said.contradictions(200, "1")) == 3


def test_a_recorded_answer_says_what_contradicts_the_document(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    paths = {
        "/orders/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "schema": {"type": "integer"}}]}}
    }
    paths["/orders/{id}"]["get"]["responses"] = {"200": of_json(REFERENCE)}  # type: ignore[assignment]
    file.write_text(json.dumps({"openapi": "3.0.0", "paths": paths, **DOCUMENT}), "utf-8")
    (asked,) = read_requests(file).asked
    given = [Answer(200, {"content-type": "application/json"}, b'{"id": 1}', 0.0)]
    (one,) = record([asked], given, given, given).recorded
    assert one.contradicts == ("/state is missing",) and one.repeatable
    bare = Asked(name=asked.name, method=asked.method, path=asked.path)
    assert record([bare], given, given, given).recorded[0].contradicts == ()

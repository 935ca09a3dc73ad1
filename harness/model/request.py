# SPDX-License-Identifier: Apache-2.0
"""One request of a workload's mix, and its right answer."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from harness.model.base import Frozen

#: What is taken out of an answer: a name of one's own, and where in the answer's JSON it stands (RFC 6901).
#: In a pointer a part of digits only is a place in a list, never the key of an object.
CaptureName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Pointer = Annotated[str, Field(pattern=r"^(/([^/~]|~[01])*)*$")]
Captures = dict[CaptureName, Pointer]


class Expectation(Frozen):
    """The right answer.

    ``body``: exact bytes as text; ``json_value``: compared as JSON; ``one_of``: any of these JSON
    values is right; none of them: status and headers only.
    """

    status: int
    body: str | None = None
    json_value: JsonValue = Field(default=None, alias="json")
    one_of: tuple[JsonValue, ...] | None = Field(default=None, min_length=1)
    headers: dict[str, str] = Field(default_factory=dict)
    volatile: tuple[Pointer, ...] = Field(
        default=(), description="of a case: places in its JSON that must be there, with any value"
    )

    @property
    def is_json(self) -> bool:
        """Whether the body is compared as a JSON value."""
        return self.one_of is not None or (self.body is None and self.json_value is not None)

    @model_validator(mode="after")
    def _one_answer_or_several(self) -> Self:
        if self.volatile and self.json_value is None:
            raise ValueError("volatile names places in json, and there is none")
        if self.one_of is not None and (self.body is not None or self.json_value is not None):
            raise ValueError("one_of stands alone: without body and json")
        return self


class Request(Frozen):
    """One request of a workload's mix, as ``contract/requests.jsonl`` has it.

    A mix whose requests carry ``step`` is a flow: every user goes through the steps in order, and
    what ``capture`` takes out of one answer is ``${name}`` in the steps after it.
    """

    mix: str
    name: str
    weight: int = Field(default=1, ge=1)
    step: int | None = Field(default=None, ge=1)
    readiness: bool = Field(default=False, description="the one to ask until the service is up")
    method: str
    path: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    capture: Captures = Field(default_factory=dict, description="name -> JSON pointer into the answer")
    expect: Expectation

    @model_validator(mode="after")
    def _compared_as_text(self) -> Self:
        if self.expect.volatile:
            raise ValueError("volatile belongs in a case: load generators compare whole texts")
        return self

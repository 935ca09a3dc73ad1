# SPDX-License-Identifier: Apache-2.0
"""A second address with a link that can be cut, for tests; where there can be none, they say so."""

from __future__ import annotations

from collections.abc import Iterator

from harness.tests.support.available import not_run
from harness.verify.faults.link import Namespace, why_not

__all__ = ["Namespace", "tidy_namespace", "why_not"]


def tidy_namespace(number: int | None = None) -> Iterator[Namespace]:
    """Yield a namespace, or say that the test was not run. The body of a fixture."""
    reason = why_not()
    if reason is not None:
        not_run(reason)
    made = Namespace() if number is None else Namespace(number=number % 16000)
    try:
        made.make()
        yield made
    finally:
        made.remove()

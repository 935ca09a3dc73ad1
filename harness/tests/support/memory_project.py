# SPDX-License-Identifier: Apache-2.0
"""A project in which memory is to be measured: a Java service of a few lines on a real JVM, and a made-up Go one."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.measure.session import Assembly, Prepared, prepare
from harness.places.hosts.local import LocalHost
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.tests.support.instances import SERVICE
from harness.tests.support.sessions import make_session_project, tiny_assembly, write_experiment
from harness.tests.support.tiny_java import TINY, make_java_project, reference_jdk
from harness.tests.support.tools_here import QUICK_JVM

HOLDER = """
import os, re
LIMIT = re.fullmatch(r"(\\d+)MiB", os.environ.get("GOMEMLIMIT", "0MiB"))
HELD = b"x" * (int(LIMIT[1]) << 20)
"""


def make_memory_project(root: Path, *, multiple: str = "2x", settings: str = "", rate: int = 200) -> Path:
    """Lay the project out; ``settings`` are what the Go variant at equal memory is told, as TOML."""
    make_session_project(root)
    services = root / "services" / "strings"
    elsewhere = root / "java"
    make_java_project(elsewhere, reference_jdk())
    shutil.copytree(elsewhere / "services" / "strings" / "tiny", services / "tiny")
    words = {"start": TINY.start, "build": TINY.build}
    lists = "".join(f"{key} = [{', '.join(map(repr, said))}]\n" for key, said in words.items())
    (services / "tiny" / "service.toml").write_text(
        'name = "tiny"\nworkload = "strings"\nlanguage = "java"\nframework = "none"\nruntime = "jvm"\n'
        f'min_java = 21\nartifact = "{TINY.artifact}"\n{lists}'
    )
    go = services / "gotiny"
    go.mkdir()
    (go / "service.py").write_text(HOLDER + (SERVICE / "service.py").read_text())
    toml = (SERVICE / "service.toml").read_text()
    (go / "service.toml").write_text(toml.replace('"misbehaving"', '"gotiny"').replace('"other"', '"go"'))
    rewrite(root, multiple=multiple, settings=settings, rate=rate)
    return root


def rewrite(root: Path, *, multiple: str = "2x", settings: str = "", rate: int = 200) -> None:
    """Write the experiment's file anew."""
    variants = {
        "go": 'implementation = "gotiny"\nruntime = { gogc = 100 }',
        "java-2x": 'implementation = "tiny"\nlean = true\nruntime = { gc = "serial", heap_max = '
        f'"{multiple}", jvm_flags = ["{QUICK_JVM}"] }}',
        "go-as-java": 'implementation = "gotiny"\nruntime = { gogc = "off", gomemlimit = "rss of java-2x" }\n'
        f"settings = {{ {settings} }}",
    }
    few = f'generator = "locust"\nprofile = {{ model = "open", rate_per_s = {rate}, duration_s = 0.5 }}'
    write_experiment(root, "memory", "strings", variants, {"few": few})


def memory_session(root: Path) -> tuple[Assembly, Prepared]:
    """The real launcher with a real JDK, and the fake load generator."""
    launcher = ProcessLauncher(LocalHost(), root, Tools(jdks=(reference_jdk(),)), grace_s=2.0)
    assembly = tiny_assembly(root, launcher)
    return assembly, prepare(assembly, "memory", profile="smoke", host="local", seed=1)

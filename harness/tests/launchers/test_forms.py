# SPDX-License-Identifier: Apache-2.0
"""Forms of Java programs: what is told to whom, what a tool's words mean, and a real trimmed runtime."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from harness.agent.files import file_sha256
from harness.model import BuildRecord, Implementation, JavaForms, PreparedImage
from harness.places.hosts.base import Command
from harness.places.hosts.local import LocalHost
from harness.places.launchers.builds import Builder, Built, copy_artifact
from harness.places.launchers.forms import Forms, label, peak_rss_bytes, write_registrations
from harness.places.launchers.tools import Tools
from harness.tests.support.available import not_asked_for, not_run, patient
from harness.tests.support.synthetic import ROOT
from harness.tests.support.tools_here import QUICK_JVM, scripted_compiler
from harness.toolchains import Surroundings, find_jdks, find_tool

SAID = Path(__file__).resolve().parents[1] / "golden" / "native-image" / "build.txt"
JAVA = Implementation(
    name="hello", workload="strings", language="java", framework="none", runtime="jvm", artifact="hello.jar",
    start=("{java}", "{runtime_args}", "-Dx=1", "-jar", "{artifact}", "--port", "{port}"), min_java=21,
)  # fmt: skip
HELLO = (
    "public class Hello { public static void main(String[] a) {"
    ' java.util.logging.Logger.getGlobal(); System.out.println("hello " + a.length); } }'
)


def test_the_words_of_a_real_build_tell_its_peak_memory_and_whose_compiler_it_was() -> None:
    assert peak_rss_bytes(SAID.read_text()) == round(3.65 * 2**30)
    assert peak_rss_bytes("nothing of the kind") is None
    text = "native-image 25.0.1 2025-10-21\nSome Runtime Environment 25.0.1+8\n\nSubstrate VM 25.0.1+8\n"
    expected = "native-image 25.0.1 2025-10-21; Some Runtime Environment 25.0.1+8; Substrate VM 25.0.1+8"
    assert label(text) == expected


def test_classes_named_in_files_of_the_jars_are_registered_and_no_others(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.writestr("com/x/Named.class", b"")
        jar.writestr("com/x/Other.class", b"")
        jar.writestr("com/x/Service.class", b"")
        jar.writestr("META-INF/services/com.x.Service", "com.x.Named # com.x.Absent\n")
        jar.writestr("META-INF/helidon/registry.json", '["com.x.Other"]')
    write_registrations([tmp_path / "a.jar"], ("META-INF/services/",), tmp_path / "out")
    reflect = json.loads((tmp_path / "out/reflect-config.json").read_text())
    assert [entry["name"] for entry in reflect] == ["com.x.Named", "com.x.Service"]
    resources = json.loads((tmp_path / "out/resource-config.json").read_text())
    assert resources["resources"]["includes"] == [{"pattern": r"\QMETA-INF/services/com.x.Service\E"}]


@pytest.mark.parametrize(
    ("forms", "image", "words"),
    [
        (
            JavaForms(),
            None,
            "native-image is missing: it is required to measure Java services compiled ahead",
        ),
        (JavaForms(native_refused="its proxies"), None, "no native image of hello: its proxies"),
        (
            JavaForms(native_prepared=PreparedImage(build=("{mvn}", "package"), words="w", image="i")),
            Path("ni"),
            "maven is missing",
        ),
    ],
)
def test_native_lacks_are_in_words(tmp_path: Path, forms: JavaForms, image: Path | None, words: str) -> None:
    reason = Forms(Builder(LocalHost(), tmp_path, Tools(native_image=image))).unavailable(
        JAVA.model_copy(update={"forms": forms}), "native", None
    )
    assert reason is not None and reason.startswith(words)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A real jar, compiled with the JDK found here."""
    jdk = find_jdks(Surroundings(project=ROOT))[0]
    folder = tmp_path_factory.mktemp("hello")
    (folder / "Hello.java").write_text(HELLO)
    host = LocalHost()
    for argv in (
        (str(jdk.home / "bin/javac"), f"-J{QUICK_JVM}", "--release", "21", "Hello.java"),
        (str(jdk.home / "bin/jar"), f"-J{QUICK_JVM}", "-cfe", "hello.jar", "Hello", "Hello.class"),
    ):
        completed = host.run(Command(argv=argv, folder=folder), patient(120))
        assert completed.exit_code == 0, completed.stderr
    out = folder / "out"
    record = BuildRecord(
        implementation="hello", source_sha256="0" * 64, argv=(), build_s=None,
        artifact_bytes=copy_artifact(folder, "hello.jar", out), artifact_sha256=file_sha256(out / "hello.jar"),
    )  # fmt: skip
    return Built(folder=out, artifact=out / "hello.jar", record=record, runtime_version=None)


def test_a_trimmed_runtime_runs(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdks = find_jdks(Surroundings(project=ROOT))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JVM)
    forms = Forms(Builder(LocalHost(), tmp_path, Tools(jdks=jdks)))
    assert forms.unavailable(JAVA, "jlink", built) is None
    made = forms.make(JAVA, "jlink", built)
    assert made.problem is None
    assert made.modules == ("java.base", "java.logging", "java.management", "jdk.management")
    assert made.image_bytes is not None and 20e6 < made.image_bytes < 150e6
    java = forms.program(JAVA, "jlink", built.folder)
    command = Command(argv=(str(java), "-jar", str(built.artifact), "x"), folder=tmp_path)
    completed = LocalHost().run(command, patient(60))
    assert completed.stdout == "hello 1\n"
    again = forms.make(JAVA, "jlink", built)
    assert again == made


def test_a_compiler_that_fails_is_a_reason_until_its_note_is_removed(built: Built, tmp_path: Path) -> None:
    tool = scripted_compiler(tmp_path, "echo 'Error: Classes that should be initialized'; exit 20\n")
    forms = Forms(Builder(LocalHost(), tmp_path, Tools(native_image=tool)))
    (tmp_path / "services/strings/hello").mkdir(parents=True)
    made = forms.make(JAVA, "native", built)
    assert made.image_bytes is None
    assert "could not compile it (Error: Classes that should be initialized)" in (made.problem or "")
    reason = forms.unavailable(JAVA, "native", built)
    assert reason is not None and reason.startswith(made.problem or "-") and "to try again remove" in reason


def _prepared(folder: Path, script: str) -> Implementation:
    """The hello whose framework prepares its own image: by ``script``, in a copy of its folder."""
    (folder / "services/strings/hello").mkdir(parents=True)
    (folder / "services/strings/hello/service.toml").write_text("# the same\n")
    own = PreparedImage(build=("sh", "-c", script), words="made/words.args", image="made/hello-runner")
    return JAVA.model_copy(update={"forms": JavaForms(native_prepared=own, native_args=("-O2",))})


def test_the_compiler_is_told_registrations_and_words_before_the_jar(built: Built, tmp_path: Path) -> None:
    own = JavaForms(native_registers=("META-INF/services/",), native_args=("-O3",))
    tool = scripted_compiler(tmp_path, 'while [ "$1" != -o ]; do shift; done; echo made > "$2"\n')
    (tmp_path / "services/strings/hello").mkdir(parents=True)
    (tmp_path / "services/strings/hello/service.toml").write_text("")
    made = Forms(Builder(LocalHost(), tmp_path, Tools(native_image=tool))).make(
        JAVA.model_copy(update={"forms": own}), "native", built
    )
    registered, *words = made.argv[2:]
    assert made.argv[:2] == (str(tool), "--no-fallback")
    assert registered.startswith("-H:ConfigurationFileDirectories=")
    assert words[:3] == ["-O3", "-jar", str(built.artifact)] and words[3] == "-o"


def test_an_image_that_a_framework_prepares_is_compiled_in_its_folder(built: Built, tmp_path: Path) -> None:
    script = "grep -q same service.toml && mkdir made && echo '-Dx=1  -jar its.jar' > made/words.args"
    java = _prepared(tmp_path, script)
    tool = scripted_compiler(tmp_path, 'echo "$(basename $PWD) $*" > hello-runner; echo "Peak RSS: 2.00GB"\n')
    forms = Forms(Builder(LocalHost(), tmp_path, Tools(native_image=tool)))
    broken = PreparedImage(build=("sh", "-c", "echo 'ERROR: too old'; exit 1"), words="w", image="i")
    worse = JAVA.model_copy(update={"forms": JavaForms(native_prepared=broken)})
    assert "nothing to compile was prepared (ERROR: too old); all of it: " in (
        forms.make(worse, "native", built).problem or ""
    )
    made = forms.make(java, "native", built)
    assert made.problem is None and made.peak_rss_bytes == 2 * 2**30
    assert made.argv == (str(tool), "-O2", "-Dx=1", "-jar", "its.jar")
    image = forms.program(java, "native", built.folder)
    assert image.read_text() == "made -O2 -Dx=1 -jar its.jar\n"
    assert [left.name for left in image.parent.iterdir() if left != image] == ["form.json"]


NATIVE = find_tool("native-image", Surroundings(project=ROOT))


# One image takes minutes and gigabytes, and no registry has the compiler for set-up to bring: asked for by name.
# What the compiler says is tested on captured output everywhere.
def test_a_real_native_image_runs_the_program(built: Built, tmp_path: Path) -> None:
    if os.environ.get("REMATCH_NATIVE_TESTS") != "1":
        not_asked_for("a real native image (minutes; needs native-image and REMATCH_NATIVE_TESTS=1)")
    if not NATIVE.usable:
        not_run(f"a real native image: {NATIVE.complaint()}")
    forms = Forms(Builder(LocalHost(), tmp_path, Tools(native_image=NATIVE.path)))
    (tmp_path / "services/strings/hello").mkdir(parents=True)
    made = forms.make(JAVA, "native", built)
    assert made.problem is None and made.peak_rss_bytes is not None and made.peak_rss_bytes > 2**28
    argv = (str(forms.program(JAVA, "native", built.folder)), "-Xmx64m", "-XX:ActiveProcessorCount=1", "x")
    assert LocalHost().run(Command(argv=argv, folder=tmp_path), patient(60)).stdout == "hello 1\n"

# SPDX-License-Identifier: Apache-2.0
"""Builds: once per source content, whole or not at all; the JVM's AOT cache, made for real; and Dockerfiles."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.definitions.services import load_implementations
from harness.errors import InputError, MissingTool, RematchError
from harness.measure.runner.start_up import wait_first_response
from harness.measure.session import assemble
from harness.model import BackingSettings, Implementation, RuntimeSettings, Variant
from harness.places.hosts.base import Command, Host
from harness.places.hosts.local import LocalHost
from harness.places.launchers import training
from harness.places.launchers.base import LaunchSpec
from harness.places.launchers.builds import Builder, copy_artifact, source_sha256
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools, build_words, with_toolchain
from harness.project import find_root
from harness.tests.contracts.launcher import HELLO
from harness.tests.support.available import patient
from harness.tests.support.instances import read_implementation
from harness.tests.support.synthetic import ROOT
from harness.tests.support.tools_here import QUICK_JVM, TINY, make_java_project
from harness.toolchains import JavaRuntime, Jdk

TOY = Implementation(
    name="toy", workload="strings", language="sh", framework="none", runtime="other", build=("sh", "build.sh"),
    artifact="target/service", start=("{artifact}",),
)  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "services" / "strings" / "toy"
    folder.mkdir(parents=True)
    (folder / "build.sh").write_text("mkdir target && cat text > target/service && echo built")
    (folder / "text").write_text("one")
    return folder


@pytest.fixture
def builder(tmp_path: Path, source: Path) -> Builder:
    return Builder(LocalHost(), tmp_path, Tools())


def test_a_build_is_made_once_and_its_source_is_kept(builder: Builder, tmp_path: Path, source: Path) -> None:
    first = builder.build(TOY)
    assert first.artifact.read_text() == "one" and first.record.build_s is not None
    assert sorted(path.name for path in source.iterdir()) == ["build.sh", "text"]
    before = source_sha256(source)
    (source / "target").mkdir()
    (source / "target" / "service").write_text("of an earlier build")
    assert source_sha256(source) == before
    (source / "text").chmod(0o755)
    assert source_sha256(source) != before
    (source / "text").chmod(0o644)
    (first.folder / "mark").touch()
    again = Builder(LocalHost(), tmp_path, Tools()).build(TOY)
    assert again == first and (again.folder / "mark").exists()
    other = builder.build(TOY.model_copy(update={"build": ("sh", "-e", "build.sh")}))
    (source / "text").write_text("two")
    second = builder.build(TOY)
    assert len({first.folder, other.folder, second.folder}) == 3
    assert (first.artifact.read_text(), second.artifact.read_text()) == ("one", "two"), "the old build stays"
    assert builder.find(TOY, first.record.source_sha256) == first


def test_a_failed_build_names_its_log_and_does_not_count(builder: Builder, source: Path) -> None:
    (source / "build.sh").write_text("mkdir target; cp text target/service; echo ERROR: no luck >&2; exit 4")
    words = r"toy: its build ended with 4 \(ERROR: no luck\); all of it: "
    with pytest.raises(RematchError, match=words) as caught:
        builder.build(TOY)
    assert "no luck" in Path(str(caught.value).rpartition(": ")[2]).read_text()
    (source / "build.sh").write_text("true")
    with pytest.raises(InputError, match="did not leave this file or folder; found 'target/service'"):
        builder.build(TOY)
    assert builder.find(TOY) is None


def test_what_a_killed_build_left_does_not_count_and_is_swept(builder: Builder, tmp_path: Path) -> None:
    left = tmp_path / ".cache" / "builds" / ".tmp-killed"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    half = builder.folder(TOY)
    half.mkdir()
    assert builder.find(TOY) is None
    half.rmdir()
    builder.build(TOY)
    assert not left.exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"runtime": "go", "build": ("go", "build")},
            "^go is missing: it is required to build toy; install it with: ",
        ),
        (
            {"runtime": "jvm", "min_java": 21},
            "^JDK 21 is missing: it is required to build toy; install it with: ",
        ),
        (
            {"build": ("no-such-compiler", "all")},
            r"^no-such-compiler is missing: .*\(no-such-compiler on PATH\)$",
        ),
    ],
)
def test_a_missing_builder_has_its_reason(builder: Builder, changed: dict[str, object], words: str) -> None:
    with pytest.raises(MissingTool, match=words):
        builder.build(TOY.model_copy(update=changed))


def test_a_service_whose_program_is_missing_is_unavailable_as_a_process(tmp_path: Path, source: Path) -> None:
    launcher = ProcessLauncher(LocalHost(), tmp_path, Tools())
    other = TOY.model_copy(update={"start": ("no-such-interpreter", "{artifact}")})
    said = launcher.unavailable(other, Variant(implementation="toy"))
    assert said is not None and "to start toy" in said and "no-such-interpreter on PATH" in said
    assert launcher.unfit(other, Variant(implementation="toy")) is None  # a container contains it


def test_links_stay_and_those_out_bring_their_files(builder: Builder, source: Path, tmp_path: Path) -> None:
    """As npm leaves them: programs in ``.bin`` and packages of a workspace are links."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "page").write_text("page")
    script = 'cd "$(dirname "$(readlink -f "$0")")" && cat text'
    (source / "build.sh").write_text(
        f"mkdir -p kit/.bin kit/tool && cp text kit/tool && echo '{script}' > kit/tool/run && chmod +x kit/tool/run\n"
        "ln -s ../tool/run kit/.bin/run && ln -s tool kit/alias && ln -s gone kit/broken"
    )
    (source / "pages").symlink_to(tmp_path / "outside")
    (source / "same").symlink_to("text")
    before = source_sha256(source)
    whole = TOY.model_copy(update={"artifact": "."})
    built = builder.build(whole)
    artifact = built.artifact
    files = [path for path in artifact.rglob("*") if path.is_file() and not path.is_symlink()]
    assert built.record.artifact_bytes == sum(f.stat().st_size for f in files if f.name != "build.json")
    run = artifact / "kit" / ".bin" / "run"
    assert subprocess.run(["sh", str(run)], capture_output=True, text=True, check=True).stdout == "one"
    links = [artifact / name for name in ("same", "kit/.bin/run", "kit/alias", "kit/broken")]
    assert [str(link.readlink()) for link in links] == ["text", "../tool/run", "tool", "gone"]
    assert not (artifact / "pages").is_symlink() and (artifact / "pages" / "page").read_text() == "page"
    (source / "same").unlink()
    (source / "same").symlink_to("build.sh")
    assert source_sha256(source) != before
    assert builder.build(whole).record.artifact_sha256 != built.record.artifact_sha256


def test_the_version_of_the_program_that_starts_a_service_is_recorded(builder: Builder) -> None:
    interpreted = TOY.model_copy(update={"start": ("bash", "{artifact}")})
    assert (builder.build(interpreted).runtime_version or "").startswith("bash GNU bash")
    assert builder.build(TOY).runtime_version is None


def test_a_jar_brings_the_libraries_of_its_class_path(tmp_path: Path, jdk: Jdk) -> None:
    made = tmp_path / "made"
    (made / "target" / "libs").mkdir(parents=True)
    (made / "target" / "libs" / "one.jar").write_bytes(b"12345")
    names = " ".join(["libs/one.jar", *(f"libs/{'x' * 60}{n}.jar" for n in range(2))])
    for n in range(2):
        (made / "target" / "libs" / f"{'x' * 60}{n}.jar").write_bytes(b"1")
    (made / "manifest").write_text(f"Class-Path: {names[:60]}\n {names[60:120]}\n {names[120:]}\n")
    argv = (str(jdk.home / "bin/jar"), "cfm", "target/a.jar", "manifest", "manifest")
    assert LocalHost().run(Command(argv=argv, folder=made), patient(60)).exit_code == 0
    size = copy_artifact(made, "target/a.jar", tmp_path / "kept")
    assert (tmp_path / "kept/target/libs/one.jar").read_bytes() == b"12345"
    assert size == 7 + (made / "target/a.jar").stat().st_size


@pytest.fixture
def java(tmp_path: Path, jdk: Jdk) -> tuple[ProcessLauncher, Implementation]:
    implementation = make_java_project(tmp_path, jdk)
    return ProcessLauncher(LocalHost(), tmp_path, Tools(jdks=(jdk,))), implementation


def test_an_aot_cache_is_trained_once(java: tuple[ProcessLauncher, Implementation], tmp_path: Path) -> None:
    launcher, implementation = java
    flags = ("-Xlog:aot", QUICK_JVM)
    runtime = RuntimeSettings(aot_cache=True, gc="serial", heap_max="64m", nmt=True, jvm_flags=flags)
    variant = Variant(implementation="tiny", runtime=runtime)
    assert launcher.unavailable(implementation, variant) is None
    record = launcher.build(implementation, variant)
    assert record.aot_cache_bytes is not None
    assert record.aot_cache_bytes > 100_000
    assert launcher.build(implementation, variant) == record
    (folder := tmp_path / "trial").mkdir()
    spec = LaunchSpec(implementation=implementation, variant=variant, build=record, folder=folder)
    instance = launcher.launch(spec)
    try:
        wait_first_response(instance, HELLO, patient(60), stderr=instance.stderr_file)
    finally:
        ended = instance.stop()
    assert "Opened AOT cache" in (folder / "service.stdout.txt").read_text()
    assert "Using Serial" in (folder / "gc.log").read_text()
    assert ended.runtime_bytes is not None
    assert ended.runtime_bytes > 10_000_000
    assert ended.runtime_version is not None


def test_a_training_start_has_what_the_implementation_needs_for_as_long_as_it_lasts(
    java: tuple[ProcessLauncher, Implementation], tmp_path: Path, jdk: Jdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    @contextmanager
    def needed(_program: Implementation, backing: BackingSettings | None) -> Iterator[dict[str, str]]:
        seen.append(backing)
        yield {"PGPORT": "1"}
        seen.append("over")

    def train(_host: Host, command: Command, *_: object) -> training.AotCache:
        seen.append(command.environment)
        return training.AotCache(training_s=1.0, cache_bytes=2)

    launcher = ProcessLauncher(LocalHost(), tmp_path, Tools(jdks=(jdk,)), training=needed)
    monkeypatch.setattr(training, "train_cache", train)
    variant = Variant(implementation="tiny", runtime=RuntimeSettings(aot_cache=True))
    launcher.build(java[1], variant, BackingSettings(seed="seven"))
    assert seen == [BackingSettings(seed="seven"), {"PGPORT": "1"}, "over"]


def test_an_aot_cache_of_other_flags_is_another_cache(java: tuple[ProcessLauncher, Implementation]) -> None:
    launcher, implementation = java

    def cache_of(**settings: str) -> str:
        runtime = RuntimeSettings.model_validate({"aot_cache": True, **settings})
        command = launcher.command(
            implementation, Variant(implementation="tiny", runtime=runtime), folder=Path("."), port=1
        )
        return next(word for word in command.argv if word.startswith("-XX:AOTCache="))

    assert cache_of(gc="serial") == cache_of(gc="serial")
    assert len({cache_of(gc="serial"), cache_of(gc="z"), cache_of(gc="serial", heap_max="64m")}) == 3


def test_a_variant_that_names_a_jdk_runs_on_it_and_is_compiled_for_the_oldest_by_the_usual() -> None:
    jdks = tuple(Jdk(home=Path(v), version=v, vendor=None) for v in ("25.0.1", "21.0.2", "17.0.1"))
    tools = Tools(jdks=jdks)
    program = TINY.model_copy(update={"min_java": 21, "oldest_java": 17})

    def named(java: int) -> Implementation:
        return with_toolchain(program, RuntimeSettings(java=java))

    assert [tools.java_that_runs(named(java)) for java in (17, 21, 25, 26)] == [*jdks[::-1], None]
    assert tools.java_that_runs(program) == tools.jdk_for(program.min_java) == jdks[0]
    assert [Tools(jdks=jdks[::-1]).jdk_for(least) for least in (None, 21, 25, 26)] == [*jdks[::-1], None]
    old = JavaRuntime(home=Path("11"), version="11.0.7", vendor=None)
    assert Tools(jdks=jdks, runtimes=(old,)).java_that_runs(named(11)) == old
    assert Tools(runtimes=(old,)).jdk_for(None) is None, "a runtime without a compiler builds nothing"
    release = ("-Dmaven.compiler.release=17", "-Dmaven.test.skip=true")
    assert build_words(named(25), Path(".")) == release == build_words(named(17), Path("."))
    assert build_words(program, Path(".")) == ()


def test_what_cannot_be_had_says_why(java: tuple[ProcessLauncher, Implementation], jdk: Jdk) -> None:
    launcher, implementation = java
    jdks = (Jdk(home=jdk.home, version="21.0.2", vendor=None),)
    old = ProcessLauncher(LocalHost(), Path("."), Tools(jdks=jdks))

    def why(where: ProcessLauncher, **runtime: object) -> str:
        variant = Variant(implementation="tiny", runtime=RuntimeSettings.model_validate(runtime))
        return where.unavailable(implementation, variant) or ""

    assert why(launcher, java=17).startswith("its sources and libraries need Java ")
    assert why(launcher, java=99) == "no JDK 99 here; install it with: make toolchains"
    assert why(launcher, java=25) == ""
    assert "NoSuchFlag" in why(launcher, jvm_flags=("-XX:+NoSuchFlag",))
    assert why(old, aot_cache=True) == "an AOT cache needs JDK 25 or newer; the one used here is 21.0.2"


def test_a_go_experiment_is_another_build_and_one_that_go_does_not_know_is_unavailable() -> None:
    root = find_root()
    launcher = assemble(root).launcher
    assert isinstance(launcher, ProcessLauncher)
    program = load_implementations(root, "strings")["go-nethttp"]

    def variant(**settings: str) -> Variant:
        return Variant(implementation="go-nethttp", runtime=RuntimeSettings.model_validate(settings))

    former, unknown = variant(goexperiment="nogreenteagc"), variant(goexperiment="nosuchthing")
    assert launcher.unavailable(program, former) is None
    assert "nosuchthing" in (launcher.unavailable(program, unknown) or "")
    assert "Go rejects GOTOOLCHAIN=go1.2.3: " in (launcher.unavailable(program, variant(go="1.2.3")) or "")
    assert former.build_name == "go-nethttp+nogreenteagc"
    folder = launcher.builder.folder
    plain, other = (folder(with_toolchain(program, one.runtime)) for one in (variant(), former))
    assert plain != other


#: One that names another folder as its source is built from that one's Dockerfile.
SERVICES = sorted(
    path.parent
    for path in (ROOT / "services").glob("*/*/service.toml")
    if "source" not in tomllib.loads(path.read_text("utf-8"))
)


@pytest.mark.parametrize("service", SERVICES, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_both_images_copy_what_is_there_and_start_alike(service: Path) -> None:
    text = (service / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    begins = [n for n, (word, _) in enumerate(lines) if word == "FROM"]
    stages = [lines[begin:end] for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True)]
    prebuilt, build, built = stages
    artifact = read_implementation(service).artifact
    copied = [rest.split()[:-1] for word, rest in prebuilt if word == "COPY"]
    assert [artifact] in copied
    assert {Path(source).parent for sources in copied for source in sources} == {Path(artifact).parent}
    sources = [source for word, rest in build if word == "COPY" for source in rest.split()[:-1]]
    assert all(list(service.glob(source)) for source in sources)
    starts = [[pair for pair in stage[1:] if pair[0] not in ("COPY", "RUN")] for stage in (prebuilt, built)]
    assert starts[0] == starts[1]

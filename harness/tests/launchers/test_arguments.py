# SPDX-License-Identifier: Apache-2.0
"""Templates, flags of settings, and what language runtimes are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.model import Implementation, RuntimeSettings, Variant
from harness.places.launchers import arguments

FILE = Path("services/strings/x/service.toml")
JVM = Implementation(
    name="x", workload="strings", language="java", framework="f", runtime="jvm", artifact="a.jar",
    start=("{java}",),
)  # fmt: skip
GO = JVM.model_copy(update={"runtime": "go"})


def filled(*template: str) -> tuple[str, ...]:
    return arguments.expand(template, {"port": "80", "settings": ("-a", "-b")}, file=FILE, place="start")


def test_a_word_of_several_values_becomes_several_words_and_no_other_is_split() -> None:
    assert filled("x", "{settings}", "y") == ("x", "-a", "-b", "y")
    assert filled("--port={port}:{port}") == ("--port=80:80",)
    assert arguments.expand(("{a}",), {"a": "x y {b}"}, file=FILE, place="start") == ("x y {b}",)
    with pytest.raises(InputError, match="must be a word of its own"):
        filled("--x={settings}")
    for word in ("{ports}", "{}", "x{Port}"):
        with pytest.raises(InputError, match=r"start: unknown placeholder; .*: \{port\}, \{settings\}"):
            filled(word)


def test_settings_become_flags_in_the_order_of_the_service() -> None:
    knows = JVM.model_copy(update={"settings": {"a": "--a={value}", "b": "-b{value}", "c": "--c"}})
    variant = Variant(implementation="x", settings={"b": 2, "a": True})
    assert arguments.setting_flags(knows, variant, FILE) == ("--a=true", "-b2")
    assert arguments.setting_flags(JVM, Variant(implementation="x", lean=True), FILE) == ("--lean",)
    with pytest.raises(InputError, match="found 'colour'; allowed: none"):
        arguments.setting_flags(JVM, Variant(implementation="x", settings={"colour": 1}), FILE)


def test_go_is_told_by_environment_and_one_cpu_limit_reaches_both_runtimes() -> None:
    runtime = RuntimeSettings(gogc="off", gomemlimit="64MiB")
    told = arguments.runtime_arguments(GO, runtime, cpu_limit=None)
    assert told.argv == ()
    assert told.environment == {"GOGC": "off", "GOMEMLIMIT": "64MiB", "GODEBUG": "gctrace=1"}
    assert arguments.runtime_arguments(GO, RuntimeSettings(gc_log=False), cpu_limit=None).environment == {}
    both = RuntimeSettings(cpus=2, gc_log=False)
    assert arguments.runtime_arguments(GO, both, cpu_limit=2).environment == {"GOMAXPROCS": "2"}
    assert "-XX:ActiveProcessorCount=2" in arguments.runtime_arguments(JVM, both, cpu_limit=2).argv


def test_the_jvm_is_told_by_flags_and_logs_with_both_clocks() -> None:
    runtime = RuntimeSettings(gc="serial", heap_max="64m", heap_min="32m", nmt=True, jvm_flags=("-Xss256k",))
    told = arguments.runtime_arguments(
        JVM, runtime, cpu_limit=None, java_major=25, aot_cache=Path("/c/x.aot")
    )
    assert told.argv == (
        "-XX:+UseSerialGC", "-Xms32m", "-Xmx64m", "-XX:NativeMemoryTracking=summary", "-XX:+ExitOnOutOfMemoryError",
        "-Xss256k", "-XX:AOTCache=/c/x.aot",
        "-Xlog:gc*,safepoint:file=gc.log:timemillis,uptimenanos,level,tags:filecount=0",
    )  # fmt: skip


def test_a_jvm_that_is_asked_records_compilations_and_nothing_else() -> None:
    runtime = RuntimeSettings(gc_log=False, flight_recording=True)
    told = arguments.runtime_arguments(JVM, runtime, cpu_limit=None, java_major=25)
    (recording,) = [word for word in told.argv if word.startswith("-XX:StartFlightRecording:")]
    assert "settings=none" in recording and f"filename={arguments.RECORDING}" in recording
    enabled = set(re.findall(r"\+(jdk\.\w+)#enabled=true", recording))
    assert enabled == {"jdk.Compilation", "jdk.Deoptimization"}
    assert "+jdk.Compilation#threshold=1ms" in recording


@pytest.mark.parametrize(("major", "told"), [(17, False), (21, True), (22, True), (23, False), (25, False)])
def test_zgc_is_generational_wherever_it_can_be(major: int, told: bool) -> None:
    assert ("-XX:+ZGenerational" in arguments.jvm_flags(RuntimeSettings(gc="z"), None, major)) is told


@pytest.mark.parametrize(
    ("implementation", "runtime", "names"),
    [
        (GO, RuntimeSettings(gc="g1", heap_max="1g"), "gc, heap_max"),
        (GO, RuntimeSettings(form="native"), "form"),
        (JVM, RuntimeSettings(gogc=1), "gogc"),
        (JVM, RuntimeSettings(flight_recording=True, form="native"), "flight_recording"),
        (JVM, RuntimeSettings(form="native", nmt=True, jvm_flags=("-Xint",)), "nmt, jvm_flags"),
        (JVM, RuntimeSettings(form="jlink", aot_cache=True), "aot_cache"),
    ],
)
def test_foreign_settings_fail(implementation: Implementation, runtime: RuntimeSettings, names: str) -> None:
    with pytest.raises(InputError, match=f"has no {names}"):
        arguments.runtime_arguments(implementation, runtime, cpu_limit=None)


def test_a_native_image_keeps_the_properties_of_the_start_and_is_told_its_heap_and_its_cpus() -> None:
    start = ("{java}", "{runtime_args}", "-Dx=1", "-jar", "{artifact}", "--port", "{port}")
    assert arguments.native_start(start) == ("{artifact}", "{runtime_args}", "-Dx=1", "--port", "{port}")
    settings = RuntimeSettings(form="native", gc="serial", heap_max="512m", heap_min="64m")
    assert arguments.runtime_arguments(JVM, settings, cpu_limit=2).argv == (
        "-Xms64m", "-Xmx512m", "-XX:ActiveProcessorCount=2", "-XX:+ExitOnOutOfMemoryError",
    )  # fmt: skip
    assert "serial collector, not g1" in (
        arguments.misfit(JVM, RuntimeSettings(form="native", gc="g1")) or ""
    )

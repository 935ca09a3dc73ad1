# SPDX-License-Identifier: Apache-2.0
"""From a variant to a command line: templates of ``service.toml``, flags of settings, runtime arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen, Implementation, RuntimeSettings, Variant

GC_LOG, RECORDING = "gc.log", "recording.jfr"
#: The braces of a variable of the shell, ``${NAME}``, are none.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([^{}]*)\}")

COLLECTORS = {
    "serial": "-XX:+UseSerialGC",
    "parallel": "-XX:+UseParallelGC",
    "g1": "-XX:+UseG1GC",
    "z": "-XX:+UseZGC",
    "shenandoah": "-XX:+UseShenandoahGC",
}

#: Else a service out of memory lives on half-dead, and its trial ends as anything but that.
EXIT_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"

#: Which runtime settings mean something to which runtime; ``cpus`` and ``gc_log`` are for all.
ONLY_GO = ("gogc", "gomemlimit", "goexperiment", "go", "goamd64", "pgo")
ONLY_JVM = (
    "java", "gc", "heap_max", "heap_min", "aot_cache", "form", "nmt", "flight_recording", "lock_recording", "jvm_flags",
)  # fmt: skip

#: What pods of a cluster have.
ONLY_PODS = ("cpu_limit", "cpu_request", "cpu_boost", "replicas", "scale_from", "autoscale_cpu", "access")

#: What the other forms of a Java program do not have.
FORMS_WITHOUT = {
    "jlink": ("java", "aot_cache", "flight_recording", "lock_recording"),
    "native": ("java", "aot_cache", "nmt", "flight_recording", "lock_recording", "jvm_flags"),
}


class RuntimeArguments(Frozen):
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)


def expand(
    template: tuple[str, ...], values: Mapping[str, str | tuple[str, ...]], *, file: Path, place: str
) -> tuple[str, ...]:
    """Fill in a template. A word that is just ``{name}`` becomes as many words as its value has. Raises InputError: a
    placeholder is unknown, or stands for several words inside a longer one."""
    words: list[str] = []
    for word in template:
        whole = _PLACEHOLDER.fullmatch(word)
        value = values.get(whole.group(1)) if whole else None
        if isinstance(value, tuple):
            words.extend(value)
        else:
            words.append(_filled(word, values, file, place))
    return tuple(words)


def setting_flags(implementation: Implementation, variant: Variant, file: Path) -> tuple[str, ...]:
    """Return the flags of the variant's settings, in the order of ``service.toml``. Raises InputError: an unknown
    setting."""
    for name in variant.settings:
        if name not in implementation.settings:
            raise InputError(
                f"{implementation.name} has no such setting",
                file=file,
                place="settings",
                found=name,
                allowed=", ".join(implementation.settings) or "none",
            )
    flags = []
    for name, template in implementation.settings.items():
        if name in variant.settings:
            value = variant.settings[name]
            text = str(value).lower() if isinstance(value, bool) else str(value)
            flags.append(_filled(template, {"value": text}, file, f"settings.{name}"))
    return (*flags, *(("--lean",) if variant.lean else ()))


def of_pods_alone(runtime: Mapping[str, object]) -> list[str]:
    """Return the settings that a plain process cannot have; with a memory limit its control group has a CPU limit."""
    enclosed = ("cpu_limit",) if runtime.get("memory_limit") is not None else ()
    return [name for name in ONLY_PODS if name not in enclosed and runtime.get(name) is not None]


def misfit(implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return why these runtime settings mean nothing to the implementation, or ``None``."""
    pods = of_pods_alone(dict(runtime))
    if pods:
        return f"only pods of a cluster have {', '.join(pods)}: measure it with --launcher kubernetes"
    foreign = {"go": ONLY_JVM, "jvm": ONLY_GO}.get(implementation.runtime, ONLY_GO + ONLY_JVM)
    defaults = RuntimeSettings()
    for kind, names in (
        (f"the runtime of {implementation.name} ({implementation.runtime})", foreign),
        (f"a {runtime.form} form of {implementation.name}", FORMS_WITHOUT.get(runtime.form or "jvm", ())),
    ):
        given = [name for name in names if getattr(runtime, name) != getattr(defaults, name)]
        if given:
            return f"{kind} has no {', '.join(given)}"
    if runtime.form == "native" and runtime.gc not in (None, "serial"):
        return f"a native image of {implementation.name} is built with the serial collector, not {runtime.gc}"
    return None


def cpu_limit(variant: Variant, cpus: tuple[int, ...] | None) -> int | None:
    """Return the variant's own limit, else as many as it is pinned to, else the runtime decides (``None``)."""
    return variant.runtime.cpus or (len(cpus) if cpus else None)


def runtime_arguments(
    implementation: Implementation,
    runtime: RuntimeSettings,
    *,
    cpu_limit: int | None,
    java_major: int | None = None,
    aot_cache: Path | None = None,
) -> RuntimeArguments:
    """Return what the runtime is told. The garbage collector's log goes to ``gc.log`` in the working directory (JVM)
    or to stderr (Go). Raises InputError: a setting means nothing to this runtime."""
    problem = misfit(implementation, runtime)
    if problem is not None:
        raise InputError(problem, place="runtime")
    if implementation.runtime == "go":
        environment = {
            "GOMAXPROCS": cpu_limit,
            "GOGC": runtime.gogc,
            "GOMEMLIMIT": runtime.gomemlimit,
            "GODEBUG": "gctrace=1" if runtime.gc_log else None,
        }
        return RuntimeArguments(
            environment={name: str(value) for name, value in environment.items() if value is not None}
        )
    if runtime.form == "native":
        return RuntimeArguments(argv=(*_sizes(runtime, cpu_limit), EXIT_WITHOUT_MEMORY))
    if implementation.runtime == "jvm":
        # collections and safepoints with wall and monotonic time, one file that is never rotated
        log = f"-Xlog:gc*,safepoint:file={GC_LOG}:timemillis,uptimenanos,level,tags:filecount=0"
        logs: tuple[str, ...] = (log,) if runtime.gc_log else ()
        if runtime.flight_recording or runtime.lock_recording:
            logs += recording_flags(compilations=runtime.flight_recording, locks=runtime.lock_recording)
        cache = (f"-XX:AOTCache={aot_cache}",) if aot_cache is not None else ()
        return RuntimeArguments(argv=(*jvm_flags(runtime, cpu_limit, java_major or 0), *cache, *logs))
    return RuntimeArguments()


def jvm_flags(runtime: RuntimeSettings, cpu_limit: int | None, java_major: int) -> tuple[str, ...]:
    """Return the JVM's flags but for the AOT cache and logs: those under which a cache stays valid."""
    flags = []
    if runtime.gc is not None:
        flags.append(COLLECTORS[runtime.gc])
        if runtime.gc == "z" and 21 <= java_major < 23:
            flags.append("-XX:+ZGenerational")  # what every later release does without being told
    flags += _sizes(runtime, cpu_limit)
    if runtime.nmt:
        flags.append("-XX:NativeMemoryTracking=summary")
    return (*flags, EXIT_WITHOUT_MEMORY, *runtime.jvm_flags)


def native_start(start: tuple[str, ...]) -> tuple[str, ...]:
    """Return the start of a native image, from that of the program's jar: properties stay, ``-jar`` goes.

    >>> native_start(("{java}", "{runtime_args}", "-Dx=1", "-jar", "{artifact}", "--port", "{port}"))
    ('{artifact}', '{runtime_args}', '-Dx=1', '--port', '{port}')
    """
    at = start.index("{artifact}")
    properties = (word for word in start[:at] if word.startswith("-D"))
    return ("{artifact}", "{runtime_args}", *properties, *start[at + 1 :])


def _sizes(runtime: RuntimeSettings, cpu_limit: int | None) -> list[str]:
    settings = {"-Xms": runtime.heap_min, "-Xmx": runtime.heap_max, "-XX:ActiveProcessorCount=": cpu_limit}
    return [f"{option}{value}" for option, value in settings.items() if value is not None]


#: Events of compilations of a millisecond and longer and of deoptimisations: no log has their lengths.
_COMPILATIONS = ("Compilation#threshold=1ms", "Deoptimization#stackTrace=false")
#: Threads that waited for a monitor; shorter waits end before the thread is put to sleep.
_LOCKS = ("JavaMonitorEnter#threshold=10us", "JavaMonitorEnter#stackTrace=false")


def recording_flags(*, compilations: bool = True, locks: bool = False) -> tuple[str, ...]:
    """Return the flags of a flight recording of these events and no others."""
    wanted = (*(_COMPILATIONS if compilations else ()), *(_LOCKS if locks else ()))
    events = dict.fromkeys(f"+jdk.{word.partition('#')[0]}#enabled=true" for word in wanted)
    options = (f"filename={RECORDING}", "settings=none", "dumponexit=true", *events)
    options += tuple(f"+jdk.{word}" for word in wanted)
    return (f"-XX:StartFlightRecording:{','.join(options)}", "-Xlog:jfr+startup=error")


def _filled(word: str, values: Mapping[str, str | tuple[str, ...]], file: Path, place: str) -> str:
    def value_of(match: re.Match[str]) -> str:
        value = values.get(match.group(1))
        if isinstance(value, str):
            return value
        why = "unknown placeholder" if value is None else "is several words, so it must be a word of its own"
        allowed = ", ".join(f"{{{name}}}" for name in values)
        raise InputError(why, file=file, place=place, found=match.group(0), allowed=allowed)

    return _PLACEHOLDER.sub(value_of, word)

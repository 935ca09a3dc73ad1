# SPDX-License-Identifier: Apache-2.0
"""Assemble JMeter from Maven Central: the same files as in its release that matter here, checked one by one.

JMeter is not published there as one archive. Its jars are, and its `bin` folder (settings, templates) lies inside the
jar of its configuration. For another version: ``find . -type f`` in its home gives the paths of the list.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from . import toolchains
from .say import SetupError, run, step
from .source_builds import fresh_folder, in_place

POM = Path("setup/jmeter/pom.xml")
LAUNCHER = f"ApacheJMeter-{toolchains.JMETER_VERSION}.jar"
CONFIG = f"ApacheJMeter_config-{toolchains.JMETER_VERSION}.jar"
Fetch = Callable[[Path], None]


def ensure_jmeter(project: Path, fetch: Fetch) -> bool:
    """Bring JMeter to the state that the committed list describes; return whether anything had to be done.

    ``fetch`` puts all jars into the folder it is given; a SetupError says how what was assembled differs.
    """
    home, manifest = toolchains.jmeter_home(project), project / toolchains.MANIFEST
    if home.is_dir():
        damaged = toolchains.damage(home, manifest)
        if not damaged:
            return False
        step(f"JMeter differs from its list ({len(damaged)} files, first: {damaged[0]}): assembling it")
    fresh = fresh_folder(home)
    assemble(fresh, fetch)
    if damaged := toolchains.damage(fresh, manifest):
        raise SetupError(
            f"the assembled JMeter differs from {toolchains.MANIFEST} in {len(damaged)} files, first: {damaged[0]};"
            f" it was left in {fresh} to look at"
        )
    in_place(fresh, home)
    return True


def assemble(home: Path, fetch: Fetch) -> None:
    """Lay out a JMeter home: ``lib``, ``lib/ext`` (JMeter's own jars) and ``bin``."""
    for folder in ("lib/ext", "lib/junit", "bin"):
        (home / folder).mkdir(parents=True)
    fetch(home / "lib")
    for jar in sorted((home / "lib").glob("ApacheJMeter*.jar")):
        if jar.name == LAUNCHER:
            jar.rename(home / "bin/ApacheJMeter.jar")
        elif jar.name == CONFIG:
            with zipfile.ZipFile(jar) as archive:
                names = archive.namelist()
                archive.extractall(
                    home, [name for name in names if name.startswith("bin/") and name[-1] != "/"]
                )
        else:
            jar.rename(home / "lib/ext" / jar.name)


def fetch_with_maven(project: Path, maven: Path, env: Mapping[str, str]) -> Fetch:
    """Return a fetcher that asks Maven for the jars of ``setup/jmeter/pom.xml``."""

    def fetch(folder: Path) -> None:
        step(f"assembling JMeter {toolchains.JMETER_VERSION} from Maven Central (72 MB)")
        run(
            [maven, "-B", "-q", "-f", project / POM, "dependency:copy-dependencies", "-DincludeScope=runtime",
             f"-DoutputDirectory={folder}"],
            doing="fetching JMeter's jars", env=env, cwd=project,
            then="check that Maven can reach its repository, then call this again",
        )  # fmt: skip

    return fetch

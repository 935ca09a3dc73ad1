# SPDX-License-Identifier: Apache-2.0
"""Find the outside tools: Go, JDKs, Maven, JMeter, load generators, LaTeX.

Standard library only, relative imports only: `setup` loads this package from its
folder before any dependency is installed, the harness imports it as usual, and so
the finders are written once.
"""

from __future__ import annotations

from .catalogue import (
    JAVA_MINIMUM,
    JAVA_REFERENCE,
    JMETER_VERSION,
    K6_VERSION,
    LATEX_FILES,
    MEASURING,
    OHA_VERSION,
    OTHER_GO,
    OTHER_JAVA,
    VEGETA_VERSION,
    WANTED,
    WRK2_VERSION,
    Wanted,
    how_to_get,
    lacking_packages,
    require_package,
    wanted,
    which,
)
from .find import (
    build_environment,
    find_all,
    find_go,
    find_jdk,
    find_jdks,
    find_latex,
    find_runtimes,
    find_tool,
    one_maven,
)
from .made_here import (
    MANIFEST,
    METRONOME,
    NATIVE,
    damage,
    find_jmeter,
    find_native,
    jmeter_home,
    jmeter_jar,
    read_manifest,
)
from .tool import JavaRuntime, Jdk, State, Surroundings, Tool, parse_version

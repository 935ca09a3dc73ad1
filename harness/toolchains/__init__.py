# SPDX-License-Identifier: Apache-2.0
"""Finders of the outside tools: Go, JDKs, Maven, JMeter, load generators, LaTeX.

Standard library only, relative imports only: `setup` loads this package before any dependency is installed.
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
    JavaRuntime,
    Jdk,
    Surroundings,
    Tool,
    how_to_get,
    lacking_packages,
    parse_version,
    require_package,
    wanted,
)
from .find import (
    MANIFEST,
    METRONOME,
    METRONOME_FLAGS,
    build_environment,
    damage,
    find_all,
    find_go,
    find_jdk,
    find_jdks,
    find_jmeter,
    find_latex,
    find_runtimes,
    find_tool,
    jmeter_home,
    metronome_program,
    one_maven,
)

# SPDX-License-Identifier: Apache-2.0
"""Programs and Python packages that only measuring needs: where records are read, none of them is there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

#: Programs by their names in the catalogue.
MEASURING = ("go", "jdk", "maven", "jmeter", "postgres")
#: Name of the import -> what a machine without it cannot do.
PACKAGES: Mapping[str, str] = {
    "docker": "to measure services in containers",
    "lightkube": "to measure services in pods of a cluster",
    "locust": "to offer the load of Locust",
    "paramiko": "to measure on other hosts over SSH",
    "psycopg": "to measure services that have a database",
}
HOW_TO_GET = "make setup"


def lacking_packages() -> dict[str, str]:
    """Return those that are not installed, with what they are for."""
    return {name: why for name, why in PACKAGES.items() if find_spec(name) is None}


def require_package(name: str) -> None:
    """Refuse where one of ``PACKAGES`` is not installed.

    Raises:
        harness.errors.MissingTool: it is not; says what for and how to get it.
    """
    # imported here because `setup` loads this package where the project's dependencies are not installed yet
    from harness.errors import MissingTool

    if find_spec(name) is None:
        raise MissingTool(f"the Python package {name}", why=PACKAGES[name], how_to_get=HOW_TO_GET)

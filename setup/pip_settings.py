# SPDX-License-Identifier: Apache-2.0
"""Say to uv what the user has told pip.

uv reads neither pip.conf nor PIP_* variables, so a machine that is set up for pip (a company's index, a certificate, a
folder of wheels) would not be set up for uv. A UV_* variable that is already set is the user's word and stays.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Mapping
from pathlib import Path

#: pip's key -> uv's variable, for keys that hold one value.
ONE = {"index-url": "UV_DEFAULT_INDEX", "proxy": "HTTPS_PROXY", "timeout": "UV_HTTP_TIMEOUT"}
#: The same for keys that hold a list; pip separates by white space, uv as given here.
MANY = {
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
}
#: Older names of the same settings, which count as the user's word too.
OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


def read_pip(listing: str, environ: Mapping[str, str]) -> dict[str, str]:
    """pip's settings from ``pip config list``: of one key ``install`` beats ``global``, and a PIP_* variable both."""
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for line in listing.splitlines():
        if match := re.fullmatch(r"(global|install)\.([a-z-]+)=(.+)", line.strip()):
            section, key, value = match.groups()
            with contextlib.suppress(ValueError, SyntaxError):
                value = str(ast.literal_eval(value))
            sections[section][key] = value
    own = {name[4:]: value for name, value in environ.items() if name.startswith("PIP_") and value}
    variables = {name.lower().replace("_", "-"): value for name, value in own.items()}
    return {**sections["global"], **sections["install"], **variables}


def uv_variables(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that tell uv what pip is told; never one that is set already."""
    wanted: dict[str, str] = {}
    for key, variable in ONE.items():
        if pip.get(key):
            wanted[variable] = pip[key].strip()
    for key, (variable, separator) in MANY.items():
        values = pip.get(key, "").split()
        if key == "find-links":
            values = [value for value in values if "://" in value or Path(value).exists()]
        if values:
            wanted[variable] = separator.join(values)
    if pip.get("cert"):
        wanted["SSL_CERT_FILE"] = pip["cert"].strip()
    if pip.get("no-index", "").strip().lower() in ("1", "true", "yes", "on"):
        wanted["UV_NO_INDEX"] = "1"
    return {
        name: value
        for name, value in wanted.items()
        if not environ.get(name) and not environ.get(OLDER.get(name, name))
    }

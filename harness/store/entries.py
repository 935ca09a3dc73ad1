# SPDX-License-Identifier: Apache-2.0
"""What is asked of an archive before anything in it is read: its checksum file, and what its entries may be."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

from harness.errors import InputError
from harness.store import blocks, layout

CHECKSUM = ".sha256"
_SHA256_DIGITS = 64


def checked(archive: Path, entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return an entry of an archive.

    Raises:
        InputError: it could be written outside of a session's folder, or fill a disk.
    """
    mode = entry.external_attr >> 16
    methods = [zipfile.ZIP_STORED]
    if not entry.filename.startswith(blocks.FOLDER):
        methods.append(zipfile.ZIP_DEFLATED)
    problem = name_problem(entry.filename)
    if problem is None and "\0" in entry.orig_filename:
        problem = "a name in another spelling"
    elif problem is None and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        problem = "not a regular file"
    elif problem is None and entry.compress_type not in methods:
        problem = "packed by a method that no session is"  # LZMA asks for as much memory as it likes
    elif problem is None and entry.flag_bits & 0x1:
        problem = "encrypted"
    if problem is not None:
        raise InputError(f"damaged: {problem}", file=archive, place=repr(entry.filename))
    return entry


def name_problem(text: str) -> str | None:
    """Return why a file of a session cannot have this name; ``None``: it can."""
    parts = text.split("/")  # a path object for each name of an archive takes half of the time to open it
    nowhere = {"", "."}.issuperset(parts) or text.startswith("/") or text.endswith("/")
    if nowhere or ".." in parts or "\\" in text:
        return "not the name of a file below the session's folder"
    if text == layout.RECOMPRESSED:
        return "a list that only unpacking writes"
    return "a name in another spelling" if "" in parts or "." in parts or "\0" in text else None


def expected_sha256(path: Path) -> str:
    """Return the SHA-256 that the file beside the archive names.

    Raises:
        InputError: there is no such file, or no hash in it.
    """
    beside = path.with_name(path.name + CHECKSUM)
    try:
        text = beside.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=beside) from None
    digest = text.split(" ", 1)[0].strip().lower()
    if len(digest) != _SHA256_DIGITS or set(digest) - set("0123456789abcdef"):
        raise InputError(
            "no SHA-256", file=beside, place="line 1", found=text[:80], allowed="as sha256sum writes it"
        )
    return digest

# SPDX-License-Identifier: Apache-2.0
"""The paper that the README links: there, small enough, and of the same numbers as the README."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.publish.build import COPY, MOST_BYTES, copy_pdf
from harness.tests.support.available import needs
from harness.tests.support.synthetic import ROOT

needs_pdftotext = needs(
    None if shutil.which("pdftotext") else "pdftotext of poppler-utils is required to read a PDF"
)


def signs(text: str) -> str:
    """Letters, digits and points alone: a PDF breaks lines and words, and joins letters."""
    return re.sub(r"[^0-9A-Za-z.]", "", unicodedata.normalize("NFKC", text))


def test_the_readme_links_a_pdf_that_is_there_and_small() -> None:
    assert f"]({COPY.as_posix()})" in (ROOT / "README.md").read_text("utf-8")
    assert (ROOT / COPY).read_bytes().startswith(b"%PDF-")
    assert (ROOT / COPY).stat().st_size <= MOST_BYTES


@needs_pdftotext
def test_the_linked_pdf_has_the_numbers_of_the_readme() -> None:
    """Fails after `rematch paper --readme` until `rematch paper --copy` has followed."""
    printed = signs(
        subprocess.run(
            ["pdftotext", str(ROOT / COPY), "-"], capture_output=True, text=True, check=True
        ).stdout
    )
    text = (ROOT / "README.md").read_text("utf-8")
    numbers = re.findall(r"<!-- valci (?:strings_warm|clients|runtimes)\S+ratio\S+ -->(.*?)<!-- / -->", text)
    assert len(numbers) > 15
    assert [number for number in numbers if signs(number) not in printed] == []


def test_a_paper_that_is_missing_or_too_large_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "docs").mkdir()
    with pytest.raises(InputError, match="not built"):
        copy_pdf(tmp_path)
    (tmp_path / "paper/main.pdf").write_bytes(b"%PDF-" + bytes(MOST_BYTES))
    with pytest.raises(InputError, match="too large"):
        copy_pdf(tmp_path)
    (tmp_path / "paper/main.pdf").write_bytes(b"%PDF-1.5")
    assert copy_pdf(tmp_path).read_bytes() == b"%PDF-1.5"

# SPDX-License-Identifier: Apache-2.0
"""The paper's sources as one archive for a preprint server, proved complete.

The files of the archive are what LaTeX itself recorded as read (``main.fls``). The proof unpacks them into an empty
folder and runs ``pdflatex`` alone there: preprint servers do not run BibTeX.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.agent.files import file_sha256
from harness.errors import InputError
from harness.publish.build import PAPER, PaperFailed, build_paper, explain, tex_environment

BUNDLE = Path("results") / "arxiv.tar.gz"
#: LaTeX writes and reads these again; each build makes its own.
_MADE_AGAIN = (".aux", ".out", ".toc", ".lof", ".lot")
#: Aux file, citations and positions of floats: as many passes as a preprint server makes at most.
_PASSES = 4
_PASS_WITHIN_S = 120
_UNRESOLVED = re.compile(r"^.*(?:Citation|Reference) [`'][^']*' .*undefined.*$", re.MULTILINE)
_PAGES = re.compile(r"Output written on main\.pdf \((\d+) pages?")


@dataclass(frozen=True, slots=True)
class Proof:
    """What the build in an empty folder gave; ``same_bytes``: its PDF equals ``paper/main.pdf`` byte for byte."""

    bundle: Path
    n_files: int
    n_pages: int
    same_bytes: bool


def make_bundle(root: Path) -> Proof:
    """Build the paper, write the bundle of its sources, and prove it.

    Raises:
        MissingTool: LaTeX is not here. InputError: no notebook has published anything.
        PaperFailed: the paper, or the bundle on its own, does not build.
    """
    paper, bundle = root / PAPER, root / BUNDLE
    pdf = build_paper(root)
    files = sources_of(paper)
    bundle.parent.mkdir(exist_ok=True)
    bundle.write_bytes(packed(paper, files))
    return Proof(bundle, len(files), *prove(bundle, pdf))


def sources_of(paper: Path) -> list[str]:
    """Return the files of the paper that its last build read, and its bibliography, relative to its folder.

    Raises:
        InputError: the paper has not been built.
    """
    record, folder = paper / "main.fls", paper.resolve()
    if not record.is_file() or not (paper / "main.bbl").is_file():
        raise InputError("the paper has not been built", file=record, allowed="make paper first")
    read = {"main.bbl", "references.bib"}
    for line in record.read_text("utf-8", errors="replace").splitlines():
        kind, _, name = line.partition(" ")
        path = (folder / name).resolve()
        if kind == "INPUT" and path.is_relative_to(folder) and path.suffix not in _MADE_AGAIN:
            read.add(path.relative_to(folder).as_posix())
    return sorted(read)


def packed(folder: Path, files: list[str]) -> bytes:
    """Return a ``tar.gz`` of files below ``folder``: the same files give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            data = (folder / name).read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def prove(bundle: Path, pdf: Path) -> tuple[int, bool]:
    """Build a bundle in an empty folder with ``pdflatex`` alone.

    Returns:
        Pages of its PDF, and whether it equals ``pdf`` byte for byte.

    Raises:
        PaperFailed: it does not build, or a citation or reference in it stays unresolved.
    """
    with tempfile.TemporaryDirectory(prefix="rematch-arxiv-") as name:
        folder = Path(name)
        with tarfile.open(bundle) as archive:
            archive.extractall(folder, filter="data")
        made, before = folder / "main.pdf", b""
        for _ in range(_PASSES):
            _one_pass(folder)
            if (aux := (folder / "main.aux").read_bytes()) == before:
                break
            before = aux
        text = (folder / "main.log").read_text("utf-8", errors="replace")
        if (unresolved := _UNRESOLVED.search(text)) is not None:
            raise PaperFailed(f"the bundle builds, but: {unresolved[0].strip()}")
        pages = _PAGES.search(text)
        return int(pages[1]) if pages else 0, file_sha256(made) == file_sha256(pdf)


def _one_pass(folder: Path) -> None:
    program = shutil.which("pdflatex") or "pdflatex"
    try:
        ended = subprocess.run(
            [program, "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", "main.tex"],
            cwd=folder, env=tex_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_PASS_WITHIN_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PaperFailed(f"the bundle: pdflatex did not end within {_PASS_WITHIN_S} s") from None
    if ended.returncode or not (folder / "main.pdf").is_file():
        raise PaperFailed(
            f"the bundle does not build on its own: {explain(folder / 'main.log', ended.stdout)}"
        )

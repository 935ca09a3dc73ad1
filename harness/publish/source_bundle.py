# SPDX-License-Identifier: Apache-2.0
"""The paper's sources as one archive, for a preprint server, and the proof that they are complete.

The list of files is what LaTeX itself recorded as read (``main.fls``), so nothing is left out or guessed.
The proof unpacks the archive into an empty folder and runs ``pdflatex`` alone there: preprint servers do not
run BibTeX.
The bibliography is held against the text: every citation has an entry, every entry is cited or listed.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.agent.files import file_sha256
from harness.errors import InputError
from harness.publish.build import PAPER, PaperFailed, build_paper, explain, tex_environment
from harness.publish.generated import paper_sources

REFERENCES = "references.bib"
_ENTRY = re.compile(r"^\s*@(?!comment|string|preamble)\w+\s*\{\s*([^,\s]+)\s*,", re.MULTILINE | re.IGNORECASE)
#: ``\nocite{key}`` lists an entry that no sentence cites.
_CITED = re.compile(r"\\(?:no)?cite[a-z]*\*?(?:\[[^]]*\])*\{([^}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%.*")


def cited_keys(sources: Iterable[str]) -> set[str]:
    """Return the keys that LaTeX sources cite or list; what is commented out does not count."""
    return {
        key.strip()
        for text in sources
        for keys in _CITED.findall(_COMMENT.sub("", text))
        for key in keys.split(",")
        if key.strip()
    }


def problems_of(references: str, sources: Iterable[str]) -> list[str]:
    """Return one sentence for each key without an entry, entry without a citation, and key given twice."""
    entries = Counter(_ENTRY.findall(references))
    cited = cited_keys(sources)
    problems = [f"\\cite{{{key}}} has no entry" for key in sorted(cited - entries.keys() - {"*"})]
    if "*" not in cited:
        problems += [
            f"{key} is neither cited nor listed by \\nocite" for key in sorted(entries.keys() - cited)
        ]
    return problems + [f"{key} has {n} entries" for key, n in sorted(entries.items()) if n > 1]


def check_bibliography(paper: Path) -> int:
    """Compare ``references.bib`` of a paper's folder with its sources and ``generated/``.

    Returns:
        How many entries there are.

    Raises:
        InputError: they do not agree, or a file is missing.
    """
    file = paper / REFERENCES
    sources = [*paper_sources(paper), *sorted((paper / "generated").rglob("*.tex"))]
    try:
        references = file.read_text("utf-8")
        problems = problems_of(references, (source.read_text("utf-8") for source in sources))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=error.filename) from None
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError(
            f"text and bibliography differ: {problems[0]}{more}",
            file=file,
            allowed="an entry for every citation; a citation or \\nocite for every entry",
        )
    return len(set(_ENTRY.findall(references)))


BUNDLE = Path("results") / "arxiv.tar.gz"
#: LaTeX writes and reads these again; each build makes its own.
_MADE_AGAIN = (".aux", ".out", ".toc", ".lof", ".lot")
_TEXT = (".tex", ".sty", ".bbl", ".bib", ".cls")
#: Aux file, citations and positions of floats: as many passes as a preprint server makes at most.
_PASSES = 4
_PASS_WITHIN_S = 120
_UNRESOLVED = re.compile(r"^.*(?:Citation|Reference) [`'][^']*' .*undefined.*$", re.MULTILINE)
_PAGES = re.compile(r"Output written on main\.pdf \((\d+) pages?")


@dataclass(frozen=True, slots=True)
class Proof:
    """What the build in an empty folder gave.

    ``same_bytes``: whether its PDF equals ``paper/main.pdf`` byte for byte.
    """

    bundle: Path
    n_files: int
    n_bytes: int
    n_references: int
    n_pages: int
    same_bytes: bool


def make_bundle(root: Path) -> Proof:
    """Build the paper, write the bundle of its sources, and prove it.

    Raises:
        MissingTool: LaTeX is not here.
        InputError: no notebook has published anything, the bibliography does not agree with the text, or a
            source names a folder of this machine.
        PaperFailed: the paper, or the bundle on its own, does not build.
    """
    n_references = check_bibliography(root / PAPER)
    pdf = build_paper(root)
    files = sources_of(root / PAPER)
    refuse_places(root, files)
    bundle = root / BUNDLE
    bundle.parent.mkdir(exist_ok=True)
    bundle.write_bytes(packed(root / PAPER, files))
    n_pages, same = prove(bundle, pdf)
    return Proof(
        bundle=bundle,
        n_files=len(files),
        n_bytes=bundle.stat().st_size,
        n_references=n_references,
        n_pages=n_pages,
        same_bytes=same,
    )


def sources_of(paper: Path) -> list[str]:
    """Return the files of the paper that its last build read, and its bibliography, relative to its folder.

    Raises:
        InputError: the paper has not been built.
    """
    record = paper / "main.fls"
    if not record.is_file() or not (paper / "main.bbl").is_file():
        raise InputError("the paper has not been built", file=record, allowed="make paper first")
    folder = paper.resolve()
    read = {"main.bbl", REFERENCES}
    for line in record.read_text("utf-8", errors="replace").splitlines():
        kind, _, name = line.partition(" ")
        path = (folder / name).resolve()
        if kind == "INPUT" and path.is_relative_to(folder) and path.suffix not in _MADE_AGAIN:
            read.add(path.relative_to(folder).as_posix())
    return sorted(read)


def refuse_places(root: Path, files: list[str]) -> None:
    """Refuse sources that name the project's folder, a home, or any absolute path that LaTeX would open.

    Raises:
        InputError: one does: which, and in which line.
    """
    places = [str(root.resolve()), str(Path.home())]
    opened = re.compile(
        r"\\(?:input|include\w*|bibliography|graphicspath)\s*(?:\[[^]]*\])?\{+\s*(?:/|~|[A-Za-z]:)"
    )
    for name in files:
        data = (root / PAPER / name).read_bytes()
        if not name.endswith(_TEXT):
            found = next((place for place in places if len(place) > 1 and place.encode() in data), None)
            if found is not None:
                raise InputError("names a folder of this machine", file=PAPER / name, found=found)
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            if opened.search(line) or any(place in line for place in places if len(place) > 1):
                raise InputError(
                    "names a folder of this machine", file=PAPER / name, place=f"line {number}",
                    found=line.strip()[:80], allowed="paths relative to paper/",
                )  # fmt: skip


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
        InputError: the archive has a name that does not belong into it.
        PaperFailed: it does not build, or a citation or reference in it stays unresolved.
    """
    with tempfile.TemporaryDirectory(prefix="rematch-arxiv-") as name:
        folder = Path(name)
        with tarfile.open(bundle) as archive:
            for entry in archive.getmembers():
                path = PurePosixPath(entry.name)
                if path.is_absolute() or ".." in path.parts or not entry.isfile():
                    raise InputError("is no file below the bundle's folder", file=bundle, place=entry.name)
            archive.extractall(folder, filter="data")
        log, made = folder / "main.log", folder / "main.pdf"
        before = b""
        for _ in range(_PASSES):
            _one_pass(folder)
            aux = (folder / "main.aux").read_bytes()
            if aux == before:
                break
            before = aux
        text = log.read_text("utf-8", errors="replace")
        unresolved = _UNRESOLVED.search(text)
        if unresolved is not None:
            raise PaperFailed(f"the bundle builds, but: {unresolved[0].strip()}")
        pages = _PAGES.search(text)
        same = made.stat().st_size == pdf.stat().st_size and file_sha256(made) == file_sha256(pdf)
        return int(pages[1]) if pages else 0, same


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

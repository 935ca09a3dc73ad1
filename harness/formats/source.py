# SPDX-License-Identifier: Apache-2.0
"""From a file as somebody sent it to UTF-8 text in blocks of whole CSV records.

gzip is recognised by its first bytes, UTF-16 and byte order marks likewise; bytes that are
not UTF-8 are taken as Windows-1252, the superset of Latin-1 that old tools write.
A gzip stream that ends early gives what it holds. Line ends of Windows become those of Unix.
"""

from __future__ import annotations

import codecs
import contextlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

from harness.errors import InputError
from harness.model.formatting import counted

BLOCK_BYTES = 4 << 20
PIECE_BYTES = 1 << 20
#: A quoted field longer than this is a quote that somebody forgot to close (or a cut file).
LONGEST_RECORD_BYTES = 32 << 20

#: How far back from the end of a block the beginning of a record is looked for.
_LINES_LOOKED_AT = 200

#: Bytes to which Windows-1252 gives no character.
_UNDEFINED = frozenset(b"\x81\x8d\x8f\x90\x9d")
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
#: How other packed files begin; gzip was unpacked already where its mark comes again.
_PACKED = {
    b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "Zstandard", b"7z\xbc\xaf": "7z",
    _GZIP: "gzip in gzip",
}  # fmt: skip


@dataclass
class SourceNotes:
    """What was met on the way; filled while the text is read. ``n_bytes``: read so far, as they are stored."""

    notes: list[str] = field(default_factory=list)
    n_bytes: int = 0

    def say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Whole records, UTF-8. ``first_line`` counts physical lines from 1."""

    data: bytes
    first_line: int

    @cached_property
    def n_lines(self) -> int:
        """How many line ends there are in it."""
        return self.data.count(b"\n")


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """A file from the line on at which the results of a tool begin.

    ``head``: the first 64 KB or so from there. ``first_line``: its number, counted from 1. ``n_before``: lines
    before it that are not blank, of another program.
    """

    path: Path
    head: str
    first_line: int = 1
    n_before: int = 0

    @property
    def first(self) -> str:
        """The first line, without its end."""
        return self.head.split("\n", 1)[0]

    @property
    def remarks(self) -> tuple[str, ...]:
        """A note on the lines before it."""
        lines = counted(self.n_before, "line")
        text = f"left out: {lines} before line {self.first_line}, where the results begin"
        return (text,) if self.n_before else ()

    def pieces(self, notes: SourceNotes) -> Iterator[bytes]:
        """Yield the text from its first line on, as :func:`read_text_pieces`."""
        return without_lines(read_text_pieces(self.path, notes), self.first_line - 1)

    def text(self, notes: SourceNotes | None = None) -> str:
        """Return the whole text from its first line on."""
        return b"".join(self.pieces(notes or SourceNotes())).decode(errors="replace")

    def from_line(self, n_lines: int) -> TextFile:
        """Return the file without so many more lines at its beginning."""
        before, head = self.head.split("\n")[:n_lines], self.head.split("\n", n_lines)[-1]
        n_before = self.n_before + sum(bool(line.strip(" \t\r\0")) for line in before)
        return TextFile(path=self.path, head=head, first_line=self.first_line + n_lines, n_before=n_before)


def text_file(path: Path | TextFile) -> TextFile:
    """Return a file from its first line on that is not blank; raises InputError: it cannot be read."""
    if isinstance(path, TextFile):
        return path
    head = read_head(path)
    blank = len(head) - len(head.lstrip(" \t\r\n\0"))
    return TextFile(path=path, head=head).from_line(head.count("\n", 0, blank) if head.strip() else 0)


def read_text_pieces(path: Path, notes: SourceNotes) -> Iterator[bytes]:
    """Yield the file as UTF-8 without byte order mark and with line ends of Unix, in pieces of any length; raises
    InputError: the file cannot be opened or read."""
    held = b""
    for piece in _utf8_pieces(path, notes):
        data = held + piece
        held = data[-1:] if data.endswith(b"\r") else b""
        if held:
            data = data[:-1]
        yield data.replace(b"\r\n", b"\n") if b"\r\n" in data else data
    if held:
        yield held


def _utf8_pieces(path: Path, notes: SourceNotes) -> Iterator[bytes]:
    raw = raw_pieces(path, notes)
    first = b""
    while len(first) < 4 and (more := next(raw, b"")):
        first += more
    packed = next((name for mark, name in _PACKED.items() if first.startswith(mark)), None)
    packed = "tar" if first[257:262] == b"ustar" else packed
    if packed is not None:
        raise InputError(
            f"is packed as {packed}", file=path, allowed="text, or text in gzip: unpack it first"
        )
    codec, skip = _guess_codec(first)
    if codec != "utf-8":
        notes.say(f"the text is {codec}")
    decoder = codecs.getincrementaldecoder(codec)("strict" if codec == "utf-8" else "replace")
    pieces: Iterator[bytes | None] = chain([first[skip:]], raw, [None])
    for piece in pieces:
        if piece is not None and codec == "utf-8" and piece.isascii() and not decoder.getstate()[0]:
            yield piece
            continue
        data, final = piece or b"", piece is None
        try:
            text = decoder.decode(data, final)
        except UnicodeDecodeError:
            notes.say("some lines are not UTF-8: they were read as Windows-1252")
            decoder.errors = "as windows-1252"
            text = decoder.decode(data, final)
        yield text.encode()


def _as_windows_1252(problem: UnicodeError) -> tuple[str, int]:
    """Read bytes that are not UTF-8 as Windows-1252; those it leaves undefined as the character of their number."""
    assert isinstance(problem, UnicodeDecodeError)
    data = problem.object[problem.start : problem.end]
    text = "".join(chr(byte) if byte in _UNDEFINED else bytes([byte]).decode("cp1252") for byte in data)
    return text, problem.end


codecs.register_error("as windows-1252", _as_windows_1252)


def read_head(path: Path, size: int = 65536) -> str:
    """Return the first ``size`` characters or so, decoded; used to recognise a file."""
    head = b""
    for piece in read_text_pieces(path, SourceNotes()):
        head += piece
        if len(head) >= size:
            break
    return head[:size].decode(errors="ignore")


def another_file(problem: str, file: TextFile, allowed: str) -> InputError:
    """Return the error for a file whose first line is not that of the format."""
    return InputError(
        problem, file=file.path, place=f"line {file.first_line}", found=file.first[:80], allowed=allowed
    )


def without_lines(pieces: Iterator[bytes], n: int) -> Iterator[bytes]:
    """Drop everything up to and with the ``n``-th line end; all of it where there are fewer."""
    head = b""
    for piece in pieces:
        if n == 0:
            yield piece
            continue
        head += piece
        *dropped, head = head.split(b"\n", n)
        n -= len(dropped)
        if n == 0:
            yield head
        elif len(head) > LONGEST_RECORD_BYTES:
            return


def read_blocks(
    pieces: Iterator[bytes], *, begins_record: Callable[[bytes], bool] | None = None, first_line: int = 1
) -> Iterator[Block]:
    """Cut UTF-8 pieces into blocks that end where a record ends.

    That is before a line of which ``begins_record`` is sure; else at a line end outside quotes.
    """
    waiting: list[bytes] = []
    size, line = 0, first_line
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size < BLOCK_BYTES:
            continue
        data = b"".join(waiting)
        cut = _record_start(data, begins_record) or _last_record_end(data)
        if cut == 0 and size >= LONGEST_RECORD_BYTES:
            cut = data.rfind(b"\n") + 1 or len(data)
        if cut:
            block = Block(data=data[:cut], first_line=line)
            line += block.n_lines
            yield block
        waiting, size = [data[cut:]], len(data) - cut
    rest = b"".join(waiting)
    cut = rest.rfind(b"\n") + 1
    if rest.count(b'"', 0, cut) % 2:
        cut = 0  # somewhere a quote never closes: only a patient reader can tell where
    for data in filter(None, (rest[:cut], rest[cut:])):
        yield Block(data=data, first_line=line)
        line += data.count(b"\n")


def _record_start(data: bytes, begins_record: Callable[[bytes], bool] | None) -> int:
    """Index of the last line but few that begins a record for sure; 0: none of them does."""
    end = len(data)
    for _ in range(_LINES_LOOKED_AT if begins_record is not None else 0):
        start = data.rfind(b"\n", 0, end)
        if start < 0:
            return 0
        if begins_record is not None and begins_record(data[start + 1 : end]):
            return start + 1
        end = start
    return 0


def _last_record_end(data: bytes) -> int:
    """Index after the last line end at which the quotes before it pair up; 0: there is none."""
    end = data.rfind(b"\n")
    quotes = data.count(b'"', 0, end + 1)
    while end >= 0 and quotes % 2:
        quote = data.rfind(b'"', 0, end)
        quotes -= 1
        end = data.rfind(b"\n", 0, quote)
        quotes -= data.count(b'"', end + 1, quote)
    return end + 1


def raw_pieces(path: Path, notes: SourceNotes) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked where it is gzipped; raises InputError: the file cannot be opened or read."""
    try:
        with path.open("rb") as stream:
            head = stream.read(2)
            stream.seek(0)
            pieces = _counted(iter(lambda: stream.read(PIECE_BYTES), b""), notes)
            yield from (_gunzip(pieces, notes) if head == _GZIP else pieces)
    except OSError as problem:
        raise InputError(f"cannot be read ({problem.strerror or problem})", file=path) from problem


def _counted(pieces: Iterator[bytes], notes: SourceNotes) -> Iterator[bytes]:
    for piece in pieces:
        notes.n_bytes += len(piece)
        yield piece


def _gunzip(pieces: Iterator[bytes], notes: SourceNotes) -> Iterator[bytes]:
    """Decompress one member after another; unlike ``gzip`` it keeps what precedes a cut or damage."""
    member, inside = zlib.decompressobj(_GZIP_WINDOW), False
    for piece in pieces:
        data = piece
        while data:
            if not inside and not data.startswith(_GZIP[: len(data)]):
                if data.strip(b"\0"):  # zeros are padding
                    notes.say("something that is not gzip follows the gzip stream; it was left out")
                return
            inside = True
            try:
                text = member.decompress(data, PIECE_BYTES)  # of a megabyte there may come a thousand
            except zlib.error as problem:
                notes.say(f"the gzip stream is damaged ({problem}); the part before the damage was read")
                return
            if text:
                yield text
            data = member.unconsumed_tail or member.unused_data
            if member.eof:
                member, inside = zlib.decompressobj(_GZIP_WINDOW), False
    if inside:
        with contextlib.suppress(zlib.error):
            yield member.flush()  # what was ready when the pieces ended
        notes.say("the gzip stream ends early; what it holds was read")


def _guess_codec(head: bytes) -> tuple[str, int]:
    """Return the codec, and how many bytes of mark to skip."""
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    for mark, codec in marks.items():
        if head.startswith(mark):
            return codec, len(mark)
    zeros = tuple(byte == 0 for byte in head[:4])
    if zeros == (False, True, False, True):
        return "utf-16-le", 0
    return ("utf-16-be" if zeros == (True, False, True, False) else "utf-8"), 0

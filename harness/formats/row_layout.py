# SPDX-License-Identifier: Apache-2.0
"""Which column of delimited text holds what, and what one row's fields say: times, verdicts, kinds of errors.

Instants are as ISO 8601 and RFC 3339 write them, with up to nine decimals.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

#: Written dates of nine decimals.
RFC3339 = "rfc3339"
#: Units of a time stamp in one second.
PER_S = {"ms": 1e3, "s": 1.0, "us": 1e6, "ns": 1e9}
#: Longest whole number of each; more digits are no time.
_DIGITS = {"ms": 15, "us": 18, "ns": 19}
#: No request takes longer: a row that says so has a stamp for its end, or none for its start.
LONGEST_S = 366 * 86400.0
#: What JMeter writes as the message of a transaction controller's row, which sums up other rows.
_TRANSACTION = "Number of samples in transaction :"

_RIGHT = ("true", "1", "1.0", "yes", "y", "t", "ok", "pass", "passed", "success")
_WRONG = ("false", "0", "0.0", "no", "n", "f", "ko", "fail", "failed", "failure", "error")
_VERDICTS = dict.fromkeys(_RIGHT, True) | dict.fromkeys(_WRONG, False)
#: What writers put in the place of no failure message.
_NO_FAILURE = frozenset(("null", "none", "nan", "-", "false", "0", "no", "n/a", "ok"))
#: As a number, as a fraction that a spreadsheet made of it, or with its phrase.
_GOOD_CODE = re.compile(r"[23]\d\d(?:\.0+| .*)?")
_LONGEST = 160
_STATUS = re.compile(r"[1-9]\d\d")
_NO_ANSWER = "Non HTTP response code: "
_NO_MESSAGE = "Non HTTP response message: "
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which column holds what. Indexes count from 0; ``None``: the file does not have it.

    ``time``: a unit of ``PER_S`` since 1970, ``RFC3339`` or a strptime format (read as UTC
    when it has no zone). ``stamp_is_end``: time stamps are of the answer, not of the start.
    ``whole_ms``: latencies are integers (a fraction makes the row unreadable).
    ``latency_units_per_s``: 1000 when latencies are in ms, 1e9 when in ns; ``latency_decimals``: digits behind
    the point where that is known.
    ``decimal``: between whole numbers and fractions, ``.`` or ``,``.
    ``row_prefix``: only lines that begin so are requests; other lines belong to other things.
    ``failure``, ``error``: why a request failed, in words. ``error_count``: 0 where it did not.
    ``connect``: the time to connect, in the unit of the latencies.
    ``thread``, ``host``, ``all_threads``, ``first_byte``, ``url``: what only checks need
    (``harness.formats.side_columns``).
    ``numbers``: columns of whole numbers. ``texts``: columns in which a delimiter may stand without quotes.
    ``thousands``: between groups of three digits of a number; empty: nothing is.
    ``era_s``: the first and last moment, epoch seconds, that a time stamp can be; ``None``: any.
    ``repeats``: names of requests that are parts or sums of others (``harness.formats.side_columns``).
    """

    delimiter: str
    n_columns: int
    latency: int
    start: int | None = None
    ok: int | None = None
    code: int | None = None
    label: int | None = None
    message: int | None = None
    failure: int | None = None
    error: int | None = None
    error_count: int | None = None
    thread: int | None = None
    host: int | None = None
    all_threads: int | None = None
    first_byte: int | None = None
    url: int | None = None
    connect: int | None = None
    time: str = "ms"
    whole_ms: bool = True
    latency_units_per_s: float = 1000.0
    latency_decimals: int = 0
    decimal: str = "."
    row_prefix: str = ""
    stamp_is_end: bool = False
    header: tuple[str, ...] | None = None
    numbers: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    thousands: str = ""
    era_s: tuple[float, float] | None = None
    repeats: frozenset[str] = frozenset()

    @property
    def end_may_be_cut(self) -> bool:
        """A last line without line end could be cut inside a value we use, and nothing would show it."""
        return self.n_columns - 1 in {self.latency, self.start, self.label, self.code}

    @property
    def tells_failures(self) -> bool:
        """The file says which requests failed."""
        return {self.ok, self.error_count, self.failure, self.code} != {None}

    @property
    def latency_step_s(self) -> float:
        """The smallest difference that latencies written like this can show."""
        return float(10.0**-self.latency_decimals / self.latency_units_per_s)

    def begins_a_row(self, line: str | bytes) -> bool:
        """This line surely begins a row, even where the quotes before it say it continues another."""
        if self.start is None:
            return False
        text = line if isinstance(line, str) else line.decode(errors="replace")
        fields = text.split(self.delimiter)
        if len(fields) <= max(self.start, self.latency):
            return False
        return (
            self.start_of(fields[self.start]) is not None
            and self.latency_of(fields[self.latency]) is not None
        )

    def names_columns(self, fields: Sequence[str]) -> bool:
        """Tell whether fields are a header: they have the latencies' name and another name of this one."""
        header = self.header or ()
        shared = {*header} & {*fields} - {""}
        return len(shared) > 1 and header[self.latency] in shared

    def latency_of(self, text: str) -> float | None:
        """Return a response time in seconds; ``None``: it cannot be read."""
        return parse_latency(self._plain(text), whole_ms=self.whole_ms, units_per_s=self.latency_units_per_s)

    def start_of(self, text: str) -> float | None:
        """Return a time stamp in epoch seconds; ``None``: it cannot be read, or is far from those of other rows."""
        start_s = parse_start(self._plain(text), self.time)
        if start_s is None or self.era_s is None or self.era_s[0] <= start_s <= self.era_s[1]:
            return start_s
        return None

    def whole(self, fields: list[str]) -> list[str] | None:
        """Return a row's fields, of one with too many those of one text put together; ``None``: it is no row.

        Some writers do not quote the delimiter in a text. A text fits where what must be numbers behind it is.
        """
        surplus = len(fields) - self.n_columns
        if not surplus:
            return fields
        for column in self.texts if surplus > 0 else ():
            end = column + surplus + 1
            results = [*fields[:column], self.delimiter.join(fields[column:end]), *fields[end:]]
            numbers = all(results[i].isdigit() or not results[i] for i in self.numbers)
            if numbers and (self.ok is None or verdict_of(results[self.ok]) is not None):
                return results
        return None

    @property
    def columns_read(self) -> set[int]:
        """The columns that a row's request is made of."""
        columns = (self.latency, self.start, self.connect, self.label, self.ok, self.error_count)
        return {column for column in (*columns, *self.kind_columns) if column is not None}

    @property
    def kind_columns(self) -> tuple[int | None, int | None, int | None, int | None]:
        """The columns that ``error_kind`` takes, in its order."""
        return self.code, self.message, self.failure, self.error

    def _plain(self, number: str) -> str:
        if self.thousands:
            number = number.replace(self.thousands, "")
        return number if self.decimal == "." else number.replace(self.decimal, ".", 1)


def verdict_of(
    success: str | None, n_errors: str | None = None, failure: str | None = None, code: str | None = None
) -> bool | None:
    """Return whether a request succeeded; ``None``: the row does not say what it should.

    The tool's own verdict, its count of errors, the message of a failed assertion and the status, without blanks around
    them; ``None``: the file has no such column. The first that is not empty decides; without any all is well.
    """
    if success:
        return _VERDICTS.get(success.lower())
    if n_errors:
        return not int(n_errors) if n_errors.isascii() and n_errors.isdigit() else None
    if failure and failure.lower() not in _NO_FAILURE:
        return False
    if code or (code is not None and success is None):
        return _VERDICTS.get(code.lower(), False) if code.isalpha() else is_good_code(code)
    return None if success is not None else True


def is_good_code(code: str) -> bool:
    """Tell whether a status is one of success or redirection."""
    return _GOOD_CODE.fullmatch(code) is not None


def is_transaction(message: str) -> bool:
    """Tell whether a row only sums up other rows, as a transaction controller's does."""
    return message.startswith(_TRANSACTION)


def parse_latency(text: str, *, whole_ms: bool, units_per_s: float = 1000.0) -> float | None:
    """A latency to seconds; None when it is no number, negative or (``whole_ms``) not whole."""
    number = _whole(text) if whole_ms else _number(text)
    return None if number is None or number > LONGEST_S * units_per_s else number / units_per_s


def parse_start(text: str, time: str) -> float | None:
    """A time stamp to seconds since the epoch; None when it is not one."""
    if time in PER_S:
        number = _number(text) if time == "s" or "." in text else _whole(text, digits=_DIGITS[time])
        return None if number is None else number / PER_S[time]
    try:
        if time == RFC3339:
            return epoch_s(text)
        date = datetime.strptime(text, time)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):  # OverflowError: a zone that leads before the year 1
        return None


def split_row(text: str, delimiter: str) -> list[str]:
    """Split one record into its fields; what is no row of csv (a NUL, a lone carriage return) has none."""
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _whole(text: str, *, digits: int = 15) -> int | None:
    if "." in text:  # 1764325800020.0, as a script that took it for a fraction writes it
        text = text[:-1].rstrip("0").removesuffix(".") if text.endswith("0") else text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def error_kind(code: str, message: str, failure: str, error: str) -> str:
    """Return the kind of one failed request, such as ``HTTP 500 Internal Server Error``.

    ``code``: the status, or what JMeter writes in its place. ``message``: the phrase beside it. ``failure``: of a
    failed assertion. ``error``: the tool's own text. Each may be empty.
    """
    if code.startswith(_NO_ANSWER):
        kind = _joined(code.removeprefix(_NO_ANSWER), message.removeprefix(_NO_MESSAGE))
    elif _STATUS.fullmatch(code):
        phrase = (message or error).removeprefix(code).strip()
        kind = f"HTTP {code} {phrase}".rstrip()
        if code[0] in "23":
            kind = _joined(f"HTTP {code}", failure or error or "refused by a check")
    else:
        kind = _joined(error or failure, "") or _joined(code, message) or "no reason given"
    return " ".join(kind.split())[:_LONGEST]


def _joined(first: str, second: str) -> str:
    return ": ".join(part for part in (first.strip(), second.strip()) if part)


def epoch_s(text: str) -> float:
    """Return an instant as epoch seconds; raises ValueError: it is not one."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(f"not an instant: {text!r}")
    return _whole_s(match[1], match[3]) + float(f"0.{match[2] or 0}")


@lru_cache(maxsize=256)
def _whole_s(second: str, zone: str) -> float:
    """Return whole epoch seconds; lines of one second share them."""
    try:
        return datetime.fromisoformat(second + zone.replace("Z", "+00:00")).timestamp()
    except OverflowError as error:
        raise ValueError(f"not an instant: {second}{zone}") from error

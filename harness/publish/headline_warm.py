# SPDX-License-Identifier: Apache-2.0
"""The headline of services that have warmed up: the answer in sentences, and a table of what each needs and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.model.formatting import DASH, HIGHER, LOWER, NOT_MEASURED
from harness.model.naming import UNOFFICIAL, UNOFFICIAL_NOTE
from harness.publish.generated import Values, text_of

#: Published where anything of it was measured.
MEASURED = "strings_warm.measured"
FIGURE = "strings_warm.forest"
REFERENCE = "go_nethttp"
ROWS = {
    "go_nethttp": "Go, `net/http`",
    "go_kit": "Go kit",
    "java_helidon": "Java, Helidon SE",
    "helidon_native": "Java, Helidon SE, native image",
    "java_jaxrs": "Java, JAX-RS on Jersey",
    "java_jdkhttp": "Java, the JDK's server",
}
#: Where the collectors were measured: what memory is enough for each language, beside what a heap of some size came to.
ENOUGH_SENTENCE = "collectors.answer_memory"
#: Where settings were measured: what those of the reference move of the comparison with the other language's service,
#: and what that one holds with a small heap.
SETTINGS_SENTENCE, SMALL_SENTENCE = "strings_warm.settings.short", "strings_warm.settings.small"
#: head of a column, with the better direction -> what is said there of each variant
COLUMNS = {
    "rank": "strings_warm.rank",
    "throughput per core ↑": "strings_warm.throughput.mean",
    "CPU per request ↓": "strings_warm.cpu.mean",
    "memory after the load ↓": "strings_warm.memory.mean",
    "time to first answer ↓": "strings_warm.first.mean",
    "until warm ↓": "strings_warm.cold.until",
    "extra CPU until warm ↓": "strings_warm.cold.used",
    "bound by": "strings_warm.bound.saturation",
}
#: What every variant that was measured has.
THERE = "strings_warm.throughput.mean"
#: path of a mean -> that of the comparisons with the reference
COMPARED = {
    f"strings_warm.{branch}.mean": f"strings_warm.{branch}"
    for branch in ("throughput", "cpu", "first", "memory")
}
_HOW_SURE = "How sure?"
#: Which trials the ratios are without for their age, where there are any.
LEFT_OUT = "strings_warm.left_out"
#: What a reader asks -> keys of the sentences that answer it; a sentence that says nothing is left out.
ANSWERS = {
    "As fast when warm?": ("strings_warm.brief.warm",),
    "From a cold start?": ("strings_warm.brief.cold",),
    "At what memory?": ("strings_warm.brief.memory", SMALL_SENTENCE),
    "With just enough memory?": (ENOUGH_SENTENCE,),
    "With Go tuned?": (SETTINGS_SENTENCE,),
    _HOW_SURE: ("strings_warm.bounded", "strings_warm.detectable.short"),
}
#: Published only where they were measured.
OPTIONAL = (
    ENOUGH_SENTENCE,
    SETTINGS_SENTENCE,
    SMALL_SENTENCE,
    "strings_warm.duet.short",
    LEFT_OUT,
)


class Said(NamedTuple):
    """A line of a cell, and the key that it was published under; ``None``: nothing was."""

    text: str
    key: str | None


class HeadlineTable(NamedTuple):
    """``rows``: name of a variant -> its cells, each of one line or more. ``before``: what its columns mean."""

    before: str
    columns: tuple[str, ...]
    rows: dict[str, list[list[Said]]]


def answer(values: Values) -> list[tuple[str, Said]]:
    """Return the sentences of the answer, those that say something, each after what a reader asks.

    Raises:
        UnknownKey: one of them was not published.
    """
    return [(lead, said) for lead, keys in ANSWERS.items() for said in _told(values, keys)]


def opening(values: Values) -> list[str]:
    """Return the lines above the figure: the answer, a line for each thing that a reader asks.

    Raises:
        UnknownKey: a sentence of it was not published.
    """
    told = {lead: " ".join(said.text for said in _told(values, keys)) for lead, keys in ANSWERS.items()}
    told[_HOW_SURE] = " ".join(filter(None, (_intervals(values), told[_HOW_SURE], _itself(values))))
    return [*(f"- **{lead}** {text}" for lead, text in told.items() if text), ""]


def table(values: Values) -> HeadlineTable:
    """Return the table of what each variant needs and gives; one that was not measured has no row.

    Raises:
        UnknownKey: one of the numbers was not published.
    """
    there = {
        variant: f"{name} {UNOFFICIAL}" if _unofficial(values, variant) else name
        for variant, name in ROWS.items()
        if values.get(f"{THERE}.{variant}", {}).get("reason") != NOT_MEASURED
    }
    before = (
        f"Each cell has the mean over {_blocks(values)} with its 95 % interval, and below it the ratio to "
        f"{ROWS[REFERENCE]}, paired by block. "
        "↑: higher is better; ↓: lower is better. "
        "Rank: the places by throughput that the intervals of all services together leave possible. "
        "Until warm: full load until throughput stays within 10 % of its warm value. "
        "Extra CPU: beyond that of as many requests to the warm service."
    )
    rows = {
        name: [
            [_said(values, f"{key}.{variant}"), *_ratio(values, head, COMPARED.get(key), variant)]
            for head, key in COLUMNS.items()
        ]
        for variant, name in there.items()
    }
    return HeadlineTable(before, tuple(COLUMNS), rows)


def lines(values: Values) -> list[str]:
    """Return the lines below the figure: the table, and what it was measured with.

    Raises:
        UnknownKey: one of the numbers was not published.
    """
    shown = table(values)
    found = [
        shown.before,
        "",
        "| | " + " | ".join(shown.columns) + " |",
        "|---|" + "".join("--:|" if head[-1] in "↑↓" else "---|" for head in shown.columns),
    ]
    for name, cells in shown.rows.items():
        found.append(
            f"| {name} | " + " | ".join("<br>".join(line.text for line in cell) for cell in cells) + " |"
        )
    return [*found, "", *(f"- {line}" for line in below(values))]


def below(values: Values) -> list[str]:
    """Return the lines below the table, each after what it is about: machine and date, load, other sessions.

    Raises:
        UnknownKey: one of the numbers was not published.
    """
    unavailable = text_of(values, "strings_warm.unavailable")
    duet = _told(values, ("strings_warm.duet.short",))
    return [
        f"**Machine:** {text_of(values, 'machine.cores')} cores, {text_of(values, 'machine.memory')}, "
        f"{text_of(values, 'tool.jdk')}, {text_of(values, 'tool.go')}; {text_of(values, 'strings_warm.day')}; "
        f"{text_of(values, 'status')}.",
        f"**Settings:** {text_of(values, 'strings_warm.load')}",
        *(f"**Ratios:** {said.text}" for said in _told(values, (LEFT_OUT,))),
        *([f"**Builds:** {UNOFFICIAL_NOTE}"] if any(_unofficial(values, name) for name in ROWS) else []),
        *(f"**Side by side:** {said.text}" for said in duet),
        f"**Again:** {text_of(values, 'strings_warm.agreement')}",
        *([] if unavailable == "none" else [f"**Not measured:** {unavailable}."]),
    ]


def _unofficial(values: Values, variant: str) -> bool:
    """Tell whether a variant's own label says that its build is unofficial."""
    return UNOFFICIAL in str(values.get(f"strings_warm.name.{variant}", {}).get("text"))


def _told(values: Values, keys: Sequence[str]) -> list[Said]:
    """The sentences that say something; one of ``OPTIONAL`` that was not published says nothing."""
    there = [key for key in keys if key in values or key not in OPTIONAL]
    return [Said(text, key) for key in there if (text := text_of(values, key)) not in (NOT_MEASURED, DASH)]


def _itself(values: Values) -> str:
    """What the reference is to itself, and what counts as equivalent."""
    return (
        f"{ROWS[REFERENCE]}, run twice in each block, has "
        f"{text_of(values, 'strings_warm.throughput.aa', interval=True)} times its own throughput; a ratio within "
        f"{text_of(values, 'strings_warm.throughput.margin')} of 1 counts as equivalent."
    )


def _intervals(values: Values) -> str:
    return f"In brackets are 95 % intervals over {_blocks(values)} on one machine."


def _blocks(values: Values) -> str:
    """How many blocks numbers are over; those without trials of another age are over fewer."""
    fewer = " (fewer where trials were left out for their age)" if _told(values, (LEFT_OUT,)) else ""
    return f"{text_of(values, 'strings_warm.blocks')} blocks of fresh processes{fewer}"


def _ratio(values: Values, head: str, compared: str | None, variant: str) -> list[Said]:
    """The ratio to the reference with what its verdict says; none of the reference itself, or where none was made."""
    if compared is None or variant == REFERENCE:
        return []
    key = f"{compared}.ratio.{variant}"
    ratio = _said(values, key).text
    if ratio == "–":
        return []
    words = text_of(values, f"{compared}.verdict.{variant}")
    if words not in (HIGHER, LOWER):
        return [Said(f"×{ratio}, {words} Go's", key)]
    return [Said(f"×{ratio}, {'better' if (words == HIGHER) == (head[-1] == '↑') else 'worse'}", key)]


def _said(values: Values, key: str | None) -> Said:
    if key is None:
        return Said("–", None)
    said = text_of(values, key, interval=True)
    return Said("–", None) if said == NOT_MEASURED else Said(said, key)

# SPDX-License-Identifier: Apache-2.0
"""The headline of services that have warmed up: the answer in sentences, and a table of what each needs and gives."""

from __future__ import annotations

from harness.model.formatting import NOT_MEASURED
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
#: head of a column, with the better direction -> what is said there of each variant
COLUMNS = {
    "throughput per core ↑": "strings_warm.throughput.mean",
    "CPU per request ↓": "strings_warm.cpu.mean",
    "until warm ↓": "strings_warm.cold.until",
    "extra CPU until warm ↓": "strings_warm.cold.used",
    "time to first answer ↓": "strings_warm.first.mean",
    "memory after the load ↓": "strings_warm.memory.mean",
    "bound by": "strings_warm.bound.saturation",
}
#: Sentences, the answer first; one that says nothing is left out.
SENTENCES = (
    "strings_warm.answer",
    "strings_warm.answer_cpu",
    "strings_warm.answer_cold",
    "strings_warm.bounded",
)


def lines(values: Values) -> list[str]:
    """Return the lines below the figure; a variant that was not measured has no row.

    Raises:
        UnknownKey: one of the numbers was not published.
    """
    told = [text_of(values, key) for key in SENTENCES]
    there = {
        variant: name
        for variant, name in ROWS.items()
        if values.get(f"{next(iter(COLUMNS.values()))}.{variant}", {}).get("reason") != NOT_MEASURED
    }
    found = [
        *(sentence for sentence in told if sentence != NOT_MEASURED),
        "",
        f"Means with 95 % intervals over {text_of(values, 'strings_warm.blocks')} blocks of fresh processes. "
        "↑: higher is better; ↓: lower is better. Extra CPU: beyond that of as many requests to the warm service.",
        "",
        "| | " + " | ".join(COLUMNS) + " |",
        "|---|" + "".join("--:|" if head[-1] in "↑↓" else "---|" for head in COLUMNS),
    ]
    for variant, name in there.items():
        cells = [_cell(values, f"{key}.{variant}") for key in COLUMNS.values()]
        found.append(f"| {name} | {' | '.join(cells)} |")
    unavailable = text_of(values, "strings_warm.unavailable")
    return [
        *found,
        "",
        *([] if unavailable == "none" else [f"Not measured: {unavailable}."]),
        text_of(values, "strings_warm.load"),
        f"**{text_of(values, 'status')}**: {text_of(values, 'machine.cores')} cores, "
        f"{text_of(values, 'machine.memory')}, {text_of(values, 'tool.jdk')}, {text_of(values, 'tool.go')}, "
        f"measured on {text_of(values, 'strings_warm.day')}.",
        f"The reference, run twice in each block, has a ratio of "
        f"{text_of(values, 'strings_warm.throughput.aa', interval=True)} to itself in throughput. "
        f"Margin of equivalence: {text_of(values, 'strings_warm.throughput.margin')}.",
    ]


def _cell(values: Values, key: str) -> str:
    said = text_of(values, key, interval=True)
    return "–" if said == NOT_MEASURED else said

# SPDX-License-Identifier: Apache-2.0
"""The headline of the published closed loop: ratios to the reference, with what limits them."""

from __future__ import annotations

from harness.publish.generated import Values, text_of

FIGURE = "strings.throughput.forest"
ROWS = {
    "go_kit": "Go kit, as published",
    "java_helidon": "Java, Helidon SE",
    "java_jaxrs": "Java, JAX-RS on Jersey",
    "java_jdkhttp": "Java, the JDK's server",
}
REFERENCE = "go_nethttp"
#: head of a column, with the better direction -> (ratio to the reference, value of the reference)
COLUMNS = {
    "throughput ↑": ("strings.throughput.ratio", "strings.throughput.rate"),
    "CPU per request ↓": ("strings.cpu.ratio", "strings.cpu.mean"),
    "time to first answer ↓": ("startup.first.ratio", "startup.first.mean"),
    "memory after the load ↓": ("startup.memory_after.ratio", "startup.memory_after.mean"),
}
VERDICT = "strings.throughput.verdict"


def opening(values: Values) -> list[str]:
    """Return nothing: there is no answer in a sentence that would hold without the figure."""
    return []


def lines(values: Values) -> list[str]:
    """Return the lines below the figure.

    Raises:
        UnknownKey: one of the numbers was not published.
    """
    cores, memory = text_of(values, "machine.cores"), text_of(values, "machine.memory")
    found = [
        f"Trials with {text_of(values, 'headline.cell')}. {text_of(values, 'headline.load')}",
        text_of(values, "headline.generator"),
        text_of(values, "headline.warm_up"),
        "",
        f"First row: Go's `net/http`, the reference, in absolute values. Below: ratios to it, with 95 % intervals over "
        f"{text_of(values, 'strings_rounds.blocks')} blocks of fresh processes. "
        "↑: higher is better; ↓: lower is better.",
        "",
        "| | " + " | ".join(COLUMNS) + " | throughput is |",
        "|---|" + "--:|" * len(COLUMNS) + "---|",
    ]
    absolute = (text_of(values, f"{value}.{REFERENCE}", interval=True) for _, value in COLUMNS.values())
    found.append("| Go, `net/http` | " + " | ".join(absolute) + " | the reference |")
    for variant, name in ROWS.items():
        cells = (text_of(values, f"{ratio}.{variant}", interval=True) for ratio, _ in COLUMNS.values())
        found.append(
            f"| {name} | " + " | ".join(cells) + f" | {text_of(values, f'{VERDICT}.{variant}')} Go's |"
        )
    return [
        *found,
        "",
        f"**{text_of(values, 'status')}**: {cores} cores, {memory}, {text_of(values, 'tool.jdk')}, "
        f"{text_of(values, 'tool.go')}, measured on {text_of(values, 'strings_rounds.day')}.",
        f"The reference, run twice in each block ({text_of(values, 'strings.throughput.noise_cell')}), has a ratio of "
        f"{text_of(values, 'strings.throughput.aa', interval=True)} to itself in throughput. "
        f"Margin of equivalence: {text_of(values, 'strings.throughput.margin')}.",
    ]

# SPDX-License-Identifier: Apache-2.0
"""What pauses explain of the latency tail, as rows: pauses of both logs, laid over the requests; and latency over time
with pauses behind it: the slow requests of a trial with the cause of each, and their figure.

The method is that of :mod:`harness.analysis.attribution`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from harness.analysis.attribution.event_matching import peak_causes
from harness.analysis.attribution.spans import joined
from harness.analysis.attribution.table import attribution_table
from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.analysis.stats.pairing import counting
from harness.publish.figures.style import FAINT, PAGE_INCHES, log_scale
from harness.rows.drawing import page
from harness.rows.results import fact, of_estimate
from harness.rows.schema import below, empty, records, stack, tidy
from harness.rows.session import OF_TRIAL, Session

#: name of the result -> number of the table of attribution
NUMBERS: Mapping[str, str] = {
    "memory": "rss_bytes",
    "latency": "latency_s",
    "pauses": "pauses_per_s",
    "paused": "paused_share",
    "longest": "longest_pause_s",
    "median": "median_pause_s",
    "collections": "collections",
    "limit": "detectability_s",
    "share": "share",
    "lower": "share_lower",
    "upper": "share_upper",
    "most": "most_share",
    "service_tail": "service_tail",
    "generator_tail": "generator_tail",
    "connect_tail": "connect_tail",
    "unexplained": "unexplained_tail",
    "throttle_most": "throttle_most",
    "jit_most": "jit_most",
    "run_queue_most": "run_queue_most",
    "cycles": "cycles_per_s",
    "cycle_excess": "cycle_excess",
}

#: cause -> colour (Okabe and Ito), marker, filling of its bands for grey print, name
CAUSES: Mapping[str, tuple[str, str, str, str]] = {
    "gc_pause": ("#D55E00", "v", "", "collection"),
    "allocation_stall": ("#CC79A7", "s", ".....", "allocation stall"),
    "other_safepoint": ("#56B4E9", "D", "xxxxx", "other safepoint"),
    "generator_stall": ("#009E73", "^", "/////", "generator's pause"),
    "connect": ("#E69F00", "P", "", "connecting"),
    "unexplained": ("#222222", "x", "", "unexplained"),
}
#: So many bands beside each other can be told apart across the page.
_SEEN_APART = 600


def attribute(session: Session, trials: pd.DataFrame | None = None) -> tuple[TrialAttribution, ...]:
    """Return every counted trial with single requests, its tail taken apart; none: nothing was measured.

    ``trials``: of the session; default: those that it did not leave out. A share of a tail does not depend on the speed
    of the CPUs, so that all trials of a session beside busy neighbours can be given (``beside_neighbours``).

    Requests begun while generator and service still settled are left out, as everywhere: their latency is that of two
    programs that warm up, and it would be all there is to explain.
    """
    if (evidence := session.evidence) is None:
        return ()
    attributed = []
    counted = session.counted if trials is None else counting(trials)
    for row in records(counted[["session_id", "trial_id"]]):
        requests = evidence.requests(row["session_id"], row["trial_id"])
        if requests is not None and int(requests["ok"].sum()) > 1:
            attributed.append(attribute_trial(evidence.folder(row["session_id"]), row["trial_id"], requests))
    return tuple(attributed)


def attribution(
    trials: Iterable[TrialAttribution],
    *,
    by: Sequence[str] = (),
    quantile: str = "p99",
    level: float = 0.95,
    prefix: str = "",
) -> pd.DataFrame:
    """Return the rows of each variant over its trials: its pauses, and what they explain of a quantile.

    ``quantile``: ``p99`` or ``p99.9``; ``prefix``: of the names, where a question has two of these tables.
    """
    rows = []
    for cell in attribution_table(trials, quantile=quantile, level=level):
        about = {"variant": cell.variant, "label": cell.label} | {name: cell.levels[name] for name in by}
        if cell.memory:
            rows.append(fact(f"{prefix}setting", cell.memory) | about)
        rows += [
            of_estimate(cell.numbers[field], name=prefix + name, kind="mean", metric=field) | about
            for name, field in NUMBERS.items()
        ]
    return stack(empty(*by), tidy(rows))


def slow_requests(
    session: Session, trials: Iterable[TrialAttribution], *, quantile: float = 0.99
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return requests and pauses of these trials on one clock, in seconds since the first request of each.

    Returns:
        Requests: ``label start_s latency_s cause``, the cause of what took most of the time beyond the median, ``""``
        below the quantile. Pauses: ``label cause start_s end_s``, of service and generator; a collector whose pauses
        could not be laid over the requests has none.
    """
    requests: list[pd.DataFrame] = []
    pauses: list[pd.DataFrame] = []
    for trial in trials:
        _, session_id, trial_id = trial.trial.rsplit("/", 2)
        own = pd.DataFrame({"session_id": [session_id], "trial_id": trial_id}).reindex(columns=list(OF_TRIAL))
        frame = session.requests(own).query("ok").sort_values("start_epoch_s", kind="stable")
        start, latency = (frame[name].to_numpy(dtype="float64") for name in ("start_epoch_s", "latency_s"))
        connect = frame["connect_s"].to_numpy(dtype="float64") if "connect_s" in frame else None
        from_s = float(np.quantile(latency, quantile))
        causes = peak_causes(start, latency, trial.events, from_s=from_s, connect_s=connect)
        columns = {"label": trial.label, "start_s": start - start[0], "latency_s": latency}
        requests.append(pd.DataFrame({**columns, "cause": [cause or "" for cause in causes]}))
        for cause, spans in trial.events.items():
            ends = np.asarray(spans, dtype="float64").reshape(-1, 2) - start[0]
            columns = {"cause": cause, "start_s": ends[:, 0], "end_s": ends[:, 1]}
            pauses.append(pd.DataFrame({"label": trial.label, **columns}))
    return (
        below(requests, "label", "start_s", "latency_s", "cause"),
        below(pauses, "label", "cause", "start_s", "end_s"),
    )


def latency_over_time(requests: pd.DataFrame, pauses: pd.DataFrame) -> Figure:
    """Return latency over time, one panel a label: pauses as bands, the slow requests by their cause."""
    labels = list(requests["label"].unique())
    figure, _ = page(
        max(len(labels), 1), 1, width=PAGE_INCHES, height=0.5 + 0.85 * len(labels), sharex=True, sharey=True
    )
    drawn = set()
    for axes, label in zip(figure.axes, labels, strict=False):
        own = requests[requests["label"] == label]
        near_s = float(np.ptp(own["start_s"])) / _SEEN_APART
        for cause, spans in pauses[pauses["label"] == label].groupby("cause", sort=False):
            colour, _, hatch, _ = CAUSES[str(cause)]
            bands = joined(
                (low, high + near_s) for low, high in zip(spans["start_s"], spans["end_s"], strict=True)
            )
            for low, high in bands:
                axes.axvspan(low, high - near_s, color=(colour, 0.35), hatch=hatch, linewidth=0.4)
        for cause, some in own.groupby("cause", sort=False):
            colour, marker, size = (FAINT, ".", 1.2) if cause == "" else (*CAUSES[str(cause)][:2], 3.0)
            at, latency_ms = some["start_s"], some["latency_s"] * 1e3
            axes.plot(at, latency_ms, marker, color=colour, markersize=size, rasterized=cause == "")
            drawn |= {cause}
        axes.set_title(label, loc="left", pad=2)
    log_scale(figure.axes[0], "y")
    low, high = figure.axes[0].get_ylim()
    # a panel this low has no room for more, and the usual locator writes nothing at all then
    figure.axes[0].yaxis.set_major_locator(LogLocator(subs=(1,) if high / low > 20 else (1, 3), numticks=9))
    figure.axes[-1].set_xlabel("time since the first request / s")
    figure.supylabel("latency / ms (log)")
    signs = [
        Line2D([], [], linestyle="none", marker=marker, color=colour, label=name)
        for cause, (colour, marker, _, name) in CAUSES.items()
        if cause in drawn | set(pauses["cause"])
    ]
    figure.legend(handles=signs, loc="outside lower center", ncols=max(len(signs), 1), frameon=False)
    return figure

# SPDX-License-Identifier: Apache-2.0
"""What JMeter is given: its plan as JMX and its properties; and the names of the files it leaves."""

from __future__ import annotations

from harness.loadgen.base import LoadSpec
from harness.loadgen.flow import is_flow
from harness.loadgen.template import template
from harness.loadgen.tools.jmeter_jmx import asked
from harness.model import ClosedLoad, OpenLoad

SAMPLES = "samples.jtl"
PLAN, PROPERTIES, LOG, GC_LOG = "plan.jmx", "jmeter.properties", "jmeter.log", "generator-gc.log"

SAVED = (
    "time", "label", "response_code", "successful", "assertion_results_failure_message", "connect_time",
)  # fmt: skip
UNSAVED = (
    "response_message", "thread_name", "data_type", "bytes", "sent_bytes", "thread_counts", "url", "filename",
    "latency", "encoding", "sample_count", "hostname", "idle_time", "subresults", "assertions",
    "samplerData", "responseHeaders", "requestHeaders", "response_data",
)  # fmt: skip

#: Before the first arrival: the schedule's clock starts before JMeter is ready to follow it.
SETTLE_S = 1.0
#: An answer that takes longer is an error.
TIMEOUT_S = 60.0


def render_plan(spec: LoadSpec, last_answers_s: int = 3) -> str:
    """Return the test plan as JMX."""
    profile = spec.profile
    return template("plan.jmx.jinja", xml=True).render(
        closed=isinstance(profile, ClosedLoad),
        profile=profile,
        schedule=_schedule(profile, last_answers_s) if isinstance(profile, OpenLoad) else None,
        seed=spec.seed,
        mix=spec.requests[0].mix,
        asked=asked(spec.requests),
        flow=is_flow(spec.requests),
        endpoint=spec.endpoint,
        timeout_ms=int(TIMEOUT_S * 1000),
    )


def render_properties() -> str:
    """JMeter's properties, all that matter written out."""
    return template("jmeter.properties.jinja").render(saved=SAVED, unsaved=UNSAVED)


def _schedule(profile: OpenLoad, last_answers_s: int) -> str:
    """Arrivals, then time for the last answers: when the schedule ends JMeter interrupts what still runs."""
    arrivals = "even_arrivals" if profile.arrivals == "constant" else "random_arrivals"
    duration_ms = round(profile.duration_s * 1000)
    rate = f"{profile.rate_per_s:.6f}".rstrip("0").rstrip(".")
    return f"pause({int(SETTLE_S)} sec) rate({rate}/sec) {arrivals}({duration_ms} ms) pause({last_answers_s} sec)"


__all__ = [
    "GC_LOG",
    "LOG",
    "PLAN",
    "PROPERTIES",
    "SAMPLES",
    "SETTLE_S",
    "render_plan",
    "render_properties",
]

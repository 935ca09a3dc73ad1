# SPDX-License-Identifier: Apache-2.0
"""What the notebooks of the workshop are given: the exercises of each unit, whose answers are held against a truth that
is computed from the data, and never typed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose, isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.analysis.load.coordinated_omission import coordinated_omission_check
from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.quantiles import EXTREME, FEWEST_BEYOND_EXTREME
from harness.analysis.stats.sample_size import plan_repetitions
from harness.model.digits import percent, plain
from harness.publish.display import Published, figure_page
from harness.publish.figures.style import png_of
from harness.questions.workshop import made_up
from harness.report.compare.comparing import compare_files
from harness.report.compare.result import Comparison
from harness.rows import Session, compare

State = Literal["open", "right", "wrong"]
REPLIES = tomllib.loads(Path(__file__).with_name("replies.toml").read_text("utf-8"))
Replies = Mapping[str, Mapping[str, Any]]
#: What an answer in another unit is multiplied by: a percentage for a share, milliseconds for seconds, and back.
_UNITS = (100.0, 1e3, 1e-3, 1e-2)
_TRUTH = (bool, np.bool_)
_SUBJECT = "java-helidon"
#: Plans of unit 6 -> what is amiss.
_PLANS = {"A": "unequal", "B": "fair", "C": "no replication", "D": "order"}


class Truth:
    """What an exercise asks for.

    Args:
        value: a number, a word, true or false, or a mapping of names to these.
        numbers: as text, of the replies. usual: name of a hint in ``replies.toml`` -> an answer that is given often and
            is wrong; of a mapping, the entries that are wrong.
    """

    def __init__(self, value: object, numbers: Mapping[str, str] | None = None, /, **usual: object) -> None:
        self.value, self.numbers, self.usual = value, numbers or {}, usual


@dataclass(frozen=True)
class Checked:
    """The reply to an answer; shows itself in a notebook as its text."""

    exercise: str
    state: State
    text: str

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.text}"


class Checks:
    """The exercises of one unit: called with the number of an exercise and an answer, it says whether that is right.

    ``replies``: as ``replies.toml`` has them; ``results``: the last reply of each exercise.
    """

    def __init__(self, truths: Mapping[str, Truth], replies: Replies = REPLIES) -> None:
        self.truths, self.replies = truths, replies
        self.results: dict[str, Checked] = {}

    def __call__(self, exercise: str | float, answer: object) -> Checked:
        """Return the reply to an answer; dots, or nothing, are an exercise that is still open."""
        name = str(exercise)
        if name not in self.truths:
            return Checked(name, "wrong", f"no such exercise; allowed: {', '.join(self.truths)}.")
        self.results[name] = Checked(name, *_judged(self.truths[name], self.replies[name], answer))
        return self.results[name]


def _judged(truth: Truth, replies: Mapping[str, Any], answer: object) -> tuple[State, str]:
    within = replies.get("within", 1e-6)
    parts = answer.values() if isinstance(answer, Mapping) else [answer]
    if any(part is ... or part is None for part in parts):
        return "open", "open. Replace the dots, and run the cell again."
    if is_same(answer, truth.value, within):
        return "right", f"right. {replies['right'].format_map(truth.numbers)}"
    for hint, usual in truth.usual.items():
        if _has(answer, usual, within):
            return "wrong", f"not yet. {replies[hint]}"
    return "wrong", f"not yet. {_difference(answer, truth.value, within)}"


def _has(answer: object, usual: object, within: float) -> bool:
    """Return whether an answer is a usual wrong one; of a mapping, whether it has the wrong entries."""
    if isinstance(answer, Mapping) and isinstance(usual, Mapping):
        return all(is_same(answer.get(name), value, within) for name, value in usual.items())
    return is_same(answer, usual, within)


def is_same(answer: object, expected: object, within: float) -> bool:
    """Return whether an answer is the expected one: numbers within a share, words whatever their case."""
    if isinstance(expected, Mapping):
        return isinstance(answer, Mapping) and set(answer) == set(expected) and _has(answer, expected, within)
    if isinstance(expected, _TRUTH) or isinstance(answer, _TRUTH):
        return isinstance(expected, _TRUTH) and isinstance(answer, _TRUTH) and bool(answer) == bool(expected)
    if isinstance(expected, str):
        return isinstance(answer, str) and answer.strip().casefold() == expected.casefold()
    if not isinstance(answer, Real) or not isinstance(expected, Real):
        return False
    return isfinite(answer) and isclose(answer, expected, rel_tol=within, abs_tol=1e-12)


def _difference(answer: object, expected: object, within: float) -> str:
    """Say what is amiss without giving the answer away."""
    if isinstance(expected, Mapping):
        return _difference_of_entries(answer, expected, within)
    if isinstance(expected, _TRUTH):
        return "Look again." if isinstance(answer, _TRUTH) else "True or False is needed."
    if not isinstance(answer, Real) or not isinstance(expected, Real):
        return "A number is needed."
    if any(is_same(float(answer) / factor, expected, within) for factor in _UNITS):
        return "These digits are right in another unit: which one is asked for?"
    return f"The number is too {'large' if float(answer) > float(expected) else 'small'}."


def _difference_of_entries(answer: object, expected: Mapping[str, object], within: float) -> str:
    if not isinstance(answer, Mapping) or set(answer) != set(expected):
        return f"One entry is needed for each of {', '.join(map(str, expected))}."
    words = sorted({value for value in expected.values() if isinstance(value, str)})
    strange = [value for value in answer.values() if not any(is_same(value, word, 0) for word in words)]
    if words and strange:
        return f"{strange[0]!r} is no answer here; allowed: {', '.join(words)}."
    n_wrong = sum(not is_same(answer[name], expected[name], within) for name in expected)
    return f"{n_wrong} of {len(expected)} entries are wrong."


def figure(drawn: Figure, *, alt: str, caption: str = "") -> Published:
    """Return a figure for a notebook, with what a reader who does not see it has to know."""
    page = figure_page(png_of(drawn), alt, caption, float(drawn.get_size_inches()[0]))
    return Published(f"figure: {alt}", page=page)


def latency_checks(latencies_ms: Floats) -> Checks:
    """Return the exercises of unit 1. ``latencies_ms``: of the correct answers of a trial, in their order."""
    p99 = _p99(latencies_ms)
    beyond, n = int((latencies_ms > p99).sum()), len(latencies_ms)
    tenths = [_p99(part) for part in np.array_split(latencies_ms, 10)]
    file = made_up.suspects(latencies_ms)[_named(made_up.FILES, "failures")]
    fewest, single = (round(least / (1 - EXTREME)) for least in (FEWEST_BEYOND_EXTREME, 1))
    truths = {
        "1.1": Truth(beyond, faster=n - beyond, share=beyond / n),
        "1.2": Truth(p99, mean=np.mean(tenths), worst=max(tenths), middle=np.median(tenths)),
        "1.3": Truth(fewest, beyond=FEWEST_BEYOND_EXTREME, single=single),
        "1.4": Truth(made_up.FILES),
        "1.5": Truth(file.loc[file["ok"], "latency_ms"].median(), failed=file["latency_ms"].median()),
    }
    return Checks(truths)


def trial_checks(session: Session, trials: pd.DataFrame, requests: pd.DataFrame, metric: str) -> Checks:
    """Return the exercises of unit 2. ``trials``: of one combination of factor levels; ``requests``: of the reference
    and its duplicates in all of them."""
    alarms, wins = _false_alarms(session.trials, requests), _wins(trials, metric)
    ratio = aa_noise(session.trials, "latency_mean_s").ratio
    at_95, at_98, at_99 = (_interval(session, trials, metric, level) for level in (0.95, 0.98, 0.99))
    truths = {
        "2.1": Truth(int(alarms.sum()), others=int((~alarms).sum())),
        "2.2": Truth((ratio.low or 0) <= 1 <= (ratio.high or np.inf)),
        "2.3": Truth(
            int(wins.sum()), {"share_of_pairs": percent(wins.mean())},
            others=int((~wins).sum()), same_block=wins.diagonal().sum(), share=wins.mean(),
        ),
        "2.4": Truth(
            {"A": "not shown", "B": "shown"},
            rows={"A": "shown", "B": "shown"}, reverse={"A": "shown", "B": "not shown"},
        ),
        "2.5": Truth(at_99, at_95=at_95, at_98=at_98),
    }  # fmt: skip
    return Checks(truths)


def _false_alarms(trials: pd.DataFrame, requests: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return for each program that ran twice in a block whether the interval over requests leaves out 1."""
    latencies = {trial: frame["latency_s"] for trial, frame in requests.groupby("trial_id")}
    measured = trials[trials["trial_id"].isin(list(latencies))].sort_values("duplicate")
    alarms = []
    for _, pair in measured.groupby(["configuration", "block"]):
        if len(pair) == 2:
            first, again = (latencies[trial].to_numpy() for trial in pair["trial_id"])
            errors = (stats.norm.ppf(0.975) * stats.sem(part) / np.mean(part) for part in (first, again))
            ratio = np.mean(again) / np.mean(first)
            alarms.append(abs(ratio - 1) > ratio * np.hypot(*errors))
    return np.array(alarms, dtype=bool)


def _wins(trials: pd.DataFrame, metric: str) -> npt.NDArray[np.bool_]:
    """Return for all pairs of trials of the two variants that are confused most often whether the one that is worse
    on average wins; shape (blocks, blocks)."""
    sign = 1 if metric == "throughput_per_s" else -1
    counted = trials.query("not excluded and not duplicate")
    arms = [sign * values.dropna().to_numpy() for _, values in counted.groupby("variant")[metric]]
    pairs = ((a, b) for a in arms for b in arms if a is not b and a.mean() >= b.mean())
    confused = [a[:, None] < b for a, b in pairs]
    return np.asarray(max(confused, key=np.mean))


def _interval(session: Session, trials: pd.DataFrame, metric: str, level: float) -> dict[str, float]:
    ratios = compare(trials, metric, "ratio", reference=session.reference, level=level).set_index("variant")
    return dict(ratios.reindex([_SUBJECT])[["low", "high"]].iloc[0])  # NaN where it was not measured


def warm_up_checks(
    cold: pd.DataFrame, warm: pd.DataFrame, *, sent: float, until_warm: float, windows: pd.DataFrame, cost_s: float
) -> Checks:  # fmt: skip
    """Return the exercises of unit 3.

    Args:
        cold, warm: CPU time per request over the reference. sent: requests to a process of the cold session.
        until_warm: requests until a process of Helidon is warm. windows: ``variant window cpu_s_per_request`` of its
            warm-up. cost_s: CPU time per request of the warm reference.
    """
    medians = windows[windows["variant"] == _SUBJECT].groupby("window")["cpu_s_per_request"].median()
    first = min(medians[medians < cost_s].index, default=float("nan"))
    truths = {
        "3.1": Truth({"cold": _way(cold), "warm": _way(warm)}),
        "3.2": Truth(sent / until_warm, reverse=until_warm / sent),
        "3.3": Truth(first, from_0=first - 1),
        "3.4": Truth(made_up.COURSES),
    }
    return Checks(truths)


def _way(ratios: pd.DataFrame) -> str:
    """Return which way the ratio of costs of the subject points, where its interval leaves out 1."""
    low, high = (ratios.loc[ratios["variant"] == _SUBJECT, end].item() for end in ("low", "high"))
    return "dearer" if low > 1 else "cheaper" if high < 1 else "not shown to differ"


def loop_checks(simulated: dict[str, pd.DataFrame]) -> Checks:
    """Return the exercises of unit 4. ``simulated``: as of :func:`made_up.loops`."""
    start, latency = (simulated["closed"][name].to_numpy() for name in ("start_s", "latency_s"))
    omission = coordinated_omission_check(start, latency, users=made_up.USERS)
    p99, corrected = simulated["open"]["latency_s"].quantile(0.99), omission.corrected_s or {}
    truths = {
        "4.1": Truth({name: int((log["latency_s"] > 0.5).sum()) for name, log in simulated.items()}),
        "4.2": Truth(made_up.RATE_PER_S * made_up.PAUSE_S, users=made_up.USERS),
        "4.3": Truth(made_up.LOOPS),
        "4.4": Truth(corrected["p99"] / p99, uncorrected=omission.measured_s["p99"] / p99),
    }
    return Checks(truths)


def first_trials(session: Session, *variants: str) -> tuple[TrialAttribution, ...]:
    """Return the first counted trial of each variant, its tail taken apart."""
    evidence = session.evidence
    assert evidence is not None  # it comes with the project
    trials = session.counted.sort_values("block").drop_duplicates("variant").set_index("variant", drop=False)
    first = (trials.loc[[name]] for name in variants)
    ids = ((trial["session_id"].item(), trial["trial_id"].item(), trial) for trial in first)
    return tuple(
        attribute_trial(evidence.folder(session_id), trial_id, session.requests(trial))
        for session_id, trial_id, trial in ids
    )


def paused_s(requests: pd.DataFrame, pauses: pd.DataFrame) -> Floats:
    """Return the time that pauses took from each request, shape (n,), in seconds. Both have ``start_s`` and ``end_s``
    on one clock; pauses do not overlap each other."""
    low, high = (pauses[name].to_numpy(dtype=np.float64) for name in ("start_s", "end_s"))
    start, end = (requests[name].to_numpy(dtype=np.float64)[:, None] for name in ("start_s", "end_s"))
    return np.asarray(np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None).sum(axis=1))


def pause_checks(requests: pd.DataFrame, pauses: pd.DataFrame) -> Checks:
    """Return the exercises of unit 5. ``requests``, ``pauses``: of one trial, as of :func:`paused_s`."""
    paused, latency = paused_s(requests, pauses), requests["latency_s"].to_numpy()
    slowest = int(latency.argmax())
    whole, clear = _p99(latency), _p99(latency[paused == 0])
    step = float(np.diff(np.unique(np.rint(1e6 * latency))).min() / 1e6)
    milliseconds = {"whole_ms": whole, "clear_ms": clear, "step_ms": step}
    numbers = {name: plain(1e3 * value) for name, value in milliseconds.items()}
    truths = {
        "5.1": Truth(len(pauses)),
        "5.2": Truth(paused[slowest], whole=latency[slowest]),
        "5.3": Truth(
            1 - clear / whole, numbers | {"step_share": percent(step / whole)},
            requests=(paused > 0).mean(), remains=clear / whole,
        ),
        "5.4": Truth(made_up.AHEAD_S, reverse=-made_up.AHEAD_S),
    }  # fmt: skip
    return Checks(truths)


def compared(folder: Path, name: str) -> Comparison:
    """Return what ``rematch compare`` says of a comparison of :func:`made_up.write_comparisons`."""
    return compare_files([str(folder / name / "a")], [str(folder / name / "b")])


def comparison_checks(folder: Path, pilot: pd.DataFrame) -> Checks:
    """Return the exercises of unit 6. ``folder``: of the comparisons; ``pilot``: a row for each block, the variant and
    its reference in two columns."""
    row = compared(folder, _named(made_up.COMPARISONS, "fair")).row("p50")
    assert row is not None and row.low is not None and row.high is not None  # five runs an arm
    wide, narrow = (plan_repetitions(*pilot.to_numpy().T, half_width=half) for half in (0.02, 0.01))
    numbers = {"wide": str(wide), "narrow": str(narrow), "times": plain(narrow / wide)}
    taken_for_fair = {f"{name.lower()}_fair": {name: "fair"} for name in "ACDE"}
    truths = {
        "6.1": Truth(made_up.COMPARISONS, **taken_for_fair),
        "6.2": Truth(row.low <= made_up.TRUE_RATIO <= row.high),
        "6.3": Truth(narrow, numbers, twice=2 * wide, pilot=len(pilot)),
        "6.4": Truth(_PLANS, c_fair={"C": "fair"}),
    }
    return Checks(truths)


def _named(faults: Mapping[str, str], fault: str) -> str:
    return next(name for name, done in faults.items() if done == fault)


def _p99(values: Floats) -> float:
    return float(np.quantile(values, 0.99, method="inverted_cdf"))

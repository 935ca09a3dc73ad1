# SPDX-License-Identifier: Apache-2.0
"""Does the place change what is measured? One place over another, within a session or between sessions.

Pinning is a factor: its levels met in every block, so they are compared block by block. Another launcher or
host is another session, made earlier or later, and is compared trial against trial: what changed on the
machine in between counts as the place's. A second session at the first place tells how much that is, and no
margin is taken below it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.aa_noise import aa_noise, no_ratio
from harness.analysis.stats.aa_test import noise_of
from harness.analysis.stats.about_services import condition_of, latency_of_tool, not_about_services
from harness.analysis.stats.ages import ages_of, of_one_age
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.equivalence import equivalence_test
from harness.analysis.stats.pairing import inputs_of, pair_by_block, require, split_excluded, split_missing
from harness.analysis.stats.verdicts import FEWEST_FOR_P, decide, default_margin, equivalence_band
from harness.model import Estimate, Verdict
from harness.model.base import Frozen

PINNING = "pinning"
_HERE = "local"


class PlaceRow(Frozen):
    """One place over the first one, of one variant and metric."""

    variant: str
    label: str
    language: str
    metric: str
    place: str = Field(description="in words; ``the same again``: a second session at the first place")
    kind: str = Field(description="pinned, again, container, container_pinned, far or far_pinned")
    reference: str = Field(description="the first place, in words")
    paired: bool = Field(description="block by block of one session; else trials of two sessions")
    ratio: Estimate = Field(description="with its 95 % interval")
    equivalence: Estimate = Field(description="with the 90 % interval of the equivalence test")
    margin: float | None = Field(
        description="what counts as negligible, never below the noise; None: nothing can be called equivalent"
    )
    verdict: Verdict
    not_about: str | None = Field(
        default=None, description="why the ratio does not speak of the services; None: it does"
    )
    young: bool = Field(default=False, description="whether it is of young processes at either place")
    n_trials: int
    warnings: tuple[str, ...] = ()

    @property
    def levels(self) -> dict[str, str]:
        """The place, as what sets this row apart from others of the variant."""
        return {"place": self.place}

    @property
    def band(self) -> tuple[float, float] | None:
        """The ratios that count as equivalent; ``None``: there are none, and no band is drawn."""
        return equivalence_band(self.margin)


def place_rows(trials: pd.DataFrame, metric: str, *, base_session: str) -> tuple[PlaceRow, ...]:
    """Compare every place with the first: the first level of pinning in ``base_session``.

    Args:
        trials: of all sessions of the experiment, at one combination of its other factors.

    Returns:
        One row per variant and further place, the second session at the first place first; none where no
        trial of ``base_session`` has the metric.

    Raises:
        InputError: no such column.
    """
    require(trials, metric, (PINNING, "host", "launcher"))
    kept, _ = split_excluded(trials)
    kept, _ = split_missing(kept, metric)
    first = kept[kept["session_id"] == base_session]
    if first.empty:
        return ()
    plain = str(trials.loc[trials["session_id"] == base_session, PINNING].iloc[0])
    levels = list(dict.fromkeys(kept[PINNING].astype(str)))
    twins = aa_noise(first[first[PINNING] == plain], metric)
    aa = twins.noise if twins.n_blocks >= FEWEST_FOR_P else None
    kept = kept[~kept["duplicate"].astype(bool)]
    rows: list[PlaceRow] = []
    for name in dict.fromkeys(kept["variant"].astype(str)):
        mine = kept[kept["variant"] == name]
        base = mine[(mine["session_id"] == base_session) & (mine[PINNING] == plain)]
        if base.empty:
            continue
        rows += _of_variant(mine, base, metric, plain, levels, aa)
    return tuple(rows)


def _of_variant(
    mine: pd.DataFrame, base: pd.DataFrame, metric: str, plain: str, levels: Sequence[str], aa: float | None
) -> list[PlaceRow]:
    first = base.iloc[0]
    home = (str(first["host"]), str(first["launcher"]))
    groups = list(mine.groupby(["session_id", "host", "launcher", PINNING], sort=False, observed=True))
    again, others = [], []
    for (session, host, launcher, pinning), arm in groups:
        if session == first["session_id"]:
            if pinning != plain:
                others.append((arm, "pinned", str(pinning)))
        elif (host, launcher) == home:
            if pinning == plain:
                again.append((arm, "again", "the same again"))
        else:
            others.append(
                (
                    arm,
                    _kind(str(host), str(launcher), home, str(pinning) != plain),
                    _words(host, launcher, pinning),
                )
            )
    noises = [
        noise_of(_compare(arm, base, metric)[1])
        for arm, _, _ in again
        if min(len(arm), len(base)) >= FEWEST_FOR_P  # fewer tell nothing of the noise but that they are few
    ]
    known = [noise for noise in (aa, *noises) if noise is not None]
    noise = max(known, default=None)
    unsaid = (
        ()
        if again
        else ("no second session at the first place: drift between sessions counts as the place's",)
    )
    return [
        _row(arm, base, metric, kind, words, _words(*home, plain), noise, unsaid)
        for arm, kind, words in (*again, *sorted(others, key=lambda other: other[1] != "pinned"))
    ]


def _row(
    arm: pd.DataFrame, base: pd.DataFrame, metric: str, kind: str, words: str, base_words: str,
    noise: float | None, unsaid: tuple[str, ...],
) -> PlaceRow:  # fmt: skip
    wanted = default_margin(metric)
    ages, n_all = ages_of(arm, base, metric), len(arm) + len(base)
    if condition_of(metric) is not None:
        arm, base = of_one_age(arm), of_one_age(base)
    ratio, equivalence, paired = _compare(arm, base, metric)
    warnings = list(ratio.warnings) if paired else [*ratio.warnings, *unsaid]
    if len(arm) + len(base) < n_all:
        warnings.append(f"{n_all - len(arm) - len(base)} of {n_all} trials left out for their age")
    n = min(len(arm), len(base))
    not_about = not_about_services(arm, base, metric)
    part = latency_of_tool(arm, base, metric)
    alike_by = part.why_not_equivalent if part is not None else None
    said = decide(
        ratio, equivalence, n_blocks=n, margin=wanted, noise=noise, not_about=not_about, alike_by=alike_by
    )
    if n < FEWEST_FOR_P:
        warnings.append(f"{n} trials: too few for a verdict")
    elif (
        why := said.margin_note(wanted, noise="the noise that was measured", alike_by=alike_by)
    ) is not None:
        warnings.append(why)
    first = base.iloc[0]
    return PlaceRow(
        variant=str(first["variant"]),
        label=str(first["label"]),
        language=str(first["language"]).lower(),
        metric=metric,
        place=words,
        kind=kind,
        reference=base_words,
        paired=paired,
        ratio=ratio,
        equivalence=equivalence,
        margin=said.margin,
        verdict=said.verdict,
        not_about=not_about,
        young=ages is not None and ages.young,
        n_trials=ratio.n_trials,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _compare(arm: pd.DataFrame, base: pd.DataFrame, metric: str) -> tuple[Estimate, Estimate, bool]:
    """The ratio, the same with the equivalence test's interval, and whether blocks were paired."""
    paired = arm["session_id"].iloc[0] == base["session_id"].iloc[0]
    if paired:
        arm, base, _ = pair_by_block(arm, base)
    x, y = (one[metric].to_numpy(dtype=np.float64) for one in (arm, base))
    if not len(x) or min(x.min(), y.min()) <= 0:
        nothing = no_ratio(metric, 0, 0.95)
        return nothing, nothing, paired
    inputs = inputs_of(pd.concat([arm, base]))
    ratio = effect_size_ci(x, y, paired=paired, estimator="log_t" if paired else "welch_log_t", inputs=inputs)
    tested = equivalence_test(x, y, paired=paired).ratio
    estimand = f"ratio of geometric means of {metric}, one place over another"
    return (
        ratio.model_copy(update={"estimand": estimand}),
        tested.model_copy(update={"estimand": estimand, "inputs": inputs}),
        paired,
    )


def _kind(host: str, launcher: str, home: tuple[str, str], pinned: bool) -> str:
    kind = "far" if host != home[0] else launcher
    return f"{kind}_pinned" if pinned else kind


def _words(host: object, launcher: object, pinning: object) -> str:
    where = "" if host == _HERE else f" on {host}"
    return f"{launcher}{where}, {pinning}"


__all__ = ["PINNING", "PlaceRow", "place_rows"]

# SPDX-License-Identifier: Apache-2.0
"""Contrasts within blocks, against answers that are known, and the fate of a claim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.errors import InputError
from harness.rows.then_now import answer, contrast, fate

#: log throughput = 9 + block + age + method + age x method + noise; Go has none of these effects.
AGE, METHOD, BOTH = 0.30, -0.20, 0.07
OLD, NEW = ("go-then", "java-then"), ("go-now", "java-now")
CORNERS = [(variant, method) for variant in (*OLD, *NEW) for method in ("article", "ours")]


def made(noise: float, n_blocks: int = 6, seed: int = 3) -> pd.DataFrame:
    rng, rows = np.random.default_rng(seed), []
    for block in range(1, n_blocks + 1):
        drift = 0.4 * block
        for variant, method in CORNERS:
            java, now, ours = variant.startswith("java"), variant in NEW, method == "ours"
            effect = java * (AGE * now + METHOD * ours + BOTH * (now and ours))
            rows.append((block, variant, method, float(np.exp(9 + drift + effect + rng.normal(0, noise)))))
    frame = pd.DataFrame(rows, columns=["block", "variant", "method", "per_s"])
    return frame.assign(
        session_id="s", experiment="e", source="measured", excluded=False, duplicate=False,
        trial_id=[f"{n:04d}" for n in range(len(frame))],
    )  # fmt: skip


def corner(variant: str, method: str) -> dict[str, str]:
    return {"variant": variant, "method": method}


AGE_OF_OURS = (
    [corner("java-now", "ours"), corner("go-then", "ours")],
    [corner("go-now", "ours"), corner("java-then", "ours")],
)
INTERACTION = (
    [*AGE_OF_OURS[0], corner("go-now", "article"), corner("java-then", "article")],
    [*AGE_OF_OURS[1], corner("java-now", "article"), corner("go-then", "article")],
)


def test_without_noise_effects_and_their_interaction_are_what_the_data_were_made_of() -> None:
    trials = made(0.0)
    age = contrast(trials, "per_s", "age", *AGE_OF_OURS).iloc[0]
    both = contrast(trials, "per_s", "interaction", *INTERACTION).iloc[0]
    method = contrast(
        trials, "per_s", "method",
        [corner("java-then", "ours"), corner("go-then", "article")],
        [corner("go-then", "ours"), corner("java-then", "article")],
    ).iloc[0]  # fmt: skip
    assert [float(np.log(row["value"])) for row in (age, both, method)] == pytest.approx(
        [AGE + BOTH, BOTH, METHOD]
    )
    assert (age["kind"], age["n_blocks"]) == ("fit", 6)


def test_the_interval_is_students_of_the_contrast_within_blocks() -> None:
    trials = made(0.05)
    row = contrast(trials, "per_s", "interaction", *INTERACTION, level=0.9).iloc[0]
    logs = trials.pivot(index="block", columns=["variant", "method"], values="per_s").map(np.log)
    signs = {("java", "now", "ours"): 1, ("go", "now", "ours"): -1, ("java", "then", "ours"): -1}
    signs |= {("go", "then", "ours"): 1, ("java", "now", "article"): -1, ("go", "now", "article"): 1}
    signs |= {("java", "then", "article"): 1, ("go", "then", "article"): -1}
    parts = [sign * logs[(f"{who}-{when}", how)] for (who, when, how), sign in signs.items()]
    by_block = np.sum([part.to_numpy(dtype=float) for part in parts], axis=0)
    half = stats.t.ppf(0.95, 5) * stats.sem(by_block)
    expected = np.exp([by_block.mean(), by_block.mean() - half, by_block.mean() + half])
    assert list(row[["value", "low", "high"]]) == pytest.approx(list(expected))


def test_only_blocks_with_every_cell_count_and_without_one_there_is_a_reason() -> None:
    trials = made(0.05)
    lost = trials.query("block == 2 and variant == 'go-now' and method == 'ours'").index
    row = contrast(trials.assign(excluded=trials.index.isin(lost)), "per_s", "age", *AGE_OF_OURS).iloc[0]
    assert row["n_blocks"] == 5 and not any("0011" in one for one in row["inputs"])
    none = contrast(trials.query("variant != 'go-now'"), "per_s", "age", *AGE_OF_OURS).iloc[0]
    assert np.isnan(none["value"]) and none["why"] == "no block has a trial of every cell"


def test_a_cell_that_is_not_told_apart_is_refused() -> None:
    with pytest.raises(InputError, match="several trials in one block"):
        contrast(made(0.0), "per_s", "age", [{"variant": "go-now"}], [{"variant": "go-then"}])
    with pytest.raises(InputError, match="as many cells on either side"):
        contrast(made(0.0), "per_s", "age", [corner("go-now", "ours")], [])


@pytest.mark.parametrize(
    ("low", "high", "limits", "expected"),
    [
        (1.1, 1.3, {"above": 1.0}, "holds"),
        (0.7, 0.9, {"above": 1.0}, "fails"),
        (0.9, 1.1, {"above": 1.0}, "open"),
        (0.7, 0.9, {"below": 1.0}, "holds"),
        (1.1, 1.3, {"below": 1.0}, "fails"),
        (np.nan, np.nan, {"above": 1.0}, "open"),
    ],
)
def test_an_interval_answers_a_claim_where_it_leaves_out_the_limit(
    low: float, high: float, limits: dict[str, float], expected: str
) -> None:
    assert answer(low, high, **limits) == expected


def test_what_is_not_reproduced_was_wrong_an_artefact_or_is_outdated() -> None:
    assert fate("fails", "holds", "holds") == "wrong then"
    assert fate("holds", "fails", "fails") == "artefact of the method"
    assert fate("holds", "holds", "fails") == "outdated"
    assert fate("holds", "holds", "holds") == "holds then and now"
    assert fate("holds", "open", "fails") == fate("open", "holds", "fails") == "open"
    assert fate("holds", "holds", "open") == "held then, open today"

# SPDX-License-Identifier: Apache-2.0
"""The tables that tidying made: of an experiment's trials, and of one trial; and what was left out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pandas as pd

from harness.analysis.processed import Processed, Source
from harness.analysis.tidy import ExperimentTidied
from harness.errors import InputError

Profile = Literal["sample", "smoke", "quick", "full"]


def load_trials(root: Path, experiment: str, profile: Profile | None = None) -> pd.DataFrame:
    """Return the table of trials of one experiment, columns as in ``docs/data.md``.

    Args:
        profile: ``sample``: the bundled session; ``smoke``, ``quick``, ``full``: sessions measured here
            with that profile; ``None``: all measured here, or the bundled one when there are none.

    Raises:
        InputError: not tidied yet, or no such session.
    """
    frame = Processed(root, experiment).read_trials()
    bundled = frame["source"] == "bundled"
    if profile is None:
        chosen = ~bundled if (~bundled).any() else bundled
    elif profile == "sample":
        chosen = bundled
    else:
        chosen = ~bundled & (frame["profile"] == profile)
    if not chosen.any():
        there = sorted({"sample" if b else str(p) for b, p in zip(bundled, frame["profile"], strict=True)})
        raise InputError(
            f"no trial of {experiment} for this profile",
            place="profile",
            found=profile,
            allowed=", ".join(there),
        )
    return frame[chosen].reset_index(drop=True)


def load_requests(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's requests: ``start_epoch_s``, ``latency_s``, ``ok``, ``label``, in the tool's order.

    Raises:
        InputError: the tool wrote no single requests, or the experiment is not tidied yet.
    """
    return Processed(root, experiment).read_table("requests", source, session, trial)


def load_samples(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's resource samples, one row per process and tick, with ``since_launch_s``.

    Raises:
        InputError: there are none, or the experiment is not tidied yet.
    """
    return Processed(root, experiment).read_table("samples", source, session, trial)


def load_native_memory(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return a JVM's native memory by boundary and category, columns as in ``docs/data.md``.

    Raises:
        InputError: the trial was made without native memory tracking, or the experiment is not tidied yet.
    """
    return Processed(root, experiment).read_table("native_memory", source, session, trial)


def load_exclusions(root: Path, experiment: str) -> ExperimentTidied:
    """Return how many trials were planned, made and left out, and why.

    Raises:
        InputError: not tidied yet.
    """
    return ExperimentTidied.model_validate(
        json.loads(Processed(root, experiment).read_exclusions()), strict=False
    )

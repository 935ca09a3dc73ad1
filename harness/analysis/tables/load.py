# SPDX-License-Identifier: Apache-2.0
"""The tables that tidying made: of an experiment's trials, and of one trial; and what was left out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pandas as pd

from harness.analysis.tables.layout import TRIALS, Processed, Source, tables_folder
from harness.analysis.tables.tidy import ExperimentTidied
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
    source: Source = "measured"
    if profile == "sample" or (profile is None and not _has_trials(root, experiment, "measured")):
        source = "bundled"
    only_bundled = source == "measured" and not _has_trials(root, experiment, "measured")
    if only_bundled and _has_trials(root, experiment, "bundled"):
        raise _not_of_profile(experiment, profile, ["sample"])
    frame = Processed(root, experiment, source).read_trials()
    chosen = frame if profile in (None, "sample") else frame[frame["profile"] == profile]
    if chosen.empty:
        there = sorted(set(frame["profile"].astype(str)))
        there += ["sample"] if _has_trials(root, experiment, "bundled") else []
        raise _not_of_profile(experiment, profile, sorted(there))
    return chosen.reset_index(drop=True)


def _not_of_profile(experiment: str, profile: Profile | None, there: list[str]) -> InputError:
    return InputError(
        f"no trial of {experiment} for this profile",
        place="profile",
        found=profile,
        allowed=", ".join(there),
    )


def _has_trials(root: Path, experiment: str, source: Source) -> bool:
    return (tables_folder(root, experiment, source) / TRIALS).is_file()


def load_requests(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's requests: ``start_epoch_s``, ``latency_s``, ``ok``, ``label``, in the tool's order.

    Raises:
        InputError: the tool wrote no single requests, or the experiment is not tidied yet.
    """
    return Processed(root, experiment, source).read_table("requests", session, trial)


def load_samples(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's resource samples, one row per process and tick, with ``since_launch_s``.

    Raises:
        InputError: there are none, or the experiment is not tidied yet.
    """
    return Processed(root, experiment, source).read_table("samples", session, trial)


def load_windows(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return the windows of a process's warm-up, one row each, columns as in ``docs/data.md``.

    Raises:
        InputError: the process was not warmed up in windows, or the trial is not its first one; or not tidied yet.
    """
    return Processed(root, experiment, source).read_table("windows", session, trial)


def load_exclusions(root: Path, experiment: str, *, source: Source = "measured") -> ExperimentTidied:
    """Return how many trials were planned, made and left out, and why.

    Raises:
        InputError: not tidied yet.
    """
    return ExperimentTidied.model_validate(
        json.loads(Processed(root, experiment, source).read_exclusions()), strict=False
    )

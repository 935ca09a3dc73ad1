# SPDX-License-Identifier: Apache-2.0
"""One tree of errors. Every message says what happened, where or when, and what to do next."""

from __future__ import annotations

import re

#: What a terminal obeys in place of showing it, and what turns the direction of text; not line ends and tabs.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Return text with its control characters written out (``\x1b``): names of requests and words of services
    come from elsewhere, and a terminal that prints them must not obey them."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class RematchError(Exception):
    """Base of every error this package raises on purpose.

    ``exit_code`` is what the command line ends with: 1 when what was asked did
    not hold, 2 when the input or the machine was not fit for it.
    """

    exit_code = 1


class Unfit(RematchError):
    """The input or the machine is not fit for what was asked."""

    exit_code = 2


class InputError(Unfit):
    """Bad input: names the file, the place in it, what was found and what is allowed."""

    def __init__(
        self,
        problem: str,
        *,
        file: object | None = None,
        place: str | None = None,
        found: object | None = None,
        allowed: str | None = None,
    ) -> None:
        self.problem, self.file, self.place = problem, file, place
        self.found, self.allowed = found, allowed
        where = ": ".join(str(part) for part in (file, place) if part is not None)
        parts = [f"{where}: {problem}" if where else problem]
        if found is not None:
            parts.append(f"found {found!r}")
        if allowed is not None:
            parts.append(f"allowed: {allowed}")
        super().__init__("; ".join(parts).replace("\n", " "))


class NothingRunsHere(InputError):
    """A machine lacks what an experiment cannot do without, so it can be planned here and not measured."""


class MissingTool(Unfit):
    """A tool is not on this machine: says which, why it is wanted, and the one command that brings it."""

    def __init__(self, tool: str, *, why: str, how_to_get: str) -> None:
        self.tool, self.why, self.how_to_get = tool, why, how_to_get
        super().__init__(f"{tool} is missing: it is required {why}; install it with: {how_to_get}")


class StoreError(Unfit):
    """data/raw cannot be read or written (read-only, full, or rewritten by somebody)."""


class OrphanError(Unfit):
    """A service of an earlier session still runs; measuring beside it would be wrong."""


class HostError(Unfit):
    """A host is gone, refuses us, or cannot do what was asked."""


class TrialFailure(RematchError):
    """A trial ended early; carries the outcome that goes into its record. Failed trials are data."""

    def __init__(self, outcome: str, reason: str) -> None:
        self.outcome, self.reason = outcome, reason
        super().__init__(f"{outcome}: {reason}")


class CalibrationFailed(RematchError):
    """No capacity was found, so the loads that are shares of it cannot be planned."""


class MemoryFitFailed(Unfit):
    """No heap works, or memory to be matched could not be read, so what is defined by them cannot be planned."""


class UnsupportedLoad(Unfit):
    """A load generator cannot express a load profile, and refuses rather than turn it into another."""


class PseudoReplicationError(Unfit, ValueError):
    """Requests were handed over as if they were independent trials."""


class UnknownKey(Unfit):
    """A number, table or figure was asked for that no notebook published."""

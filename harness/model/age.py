# SPDX-License-Identifier: Apache-2.0
"""Age of a process while it was measured: warm, young, or compiled before it started; and the one way to say it.

A ratio with a young arm is a result of young processes. Whatever prints such a ratio takes its words from here.
"""

from __future__ import annotations

from typing import Literal

from harness.model.base import Frozen

TrialAge = Literal["warm", "young", "aot-compiled"]
#: A warm JVM's compilers work for no more than this share of the load, all threads together.
COMPILED_SHARE = 0.05
#: A process whose warm-up in windows ended so has settled.
SETTLED = "settled"
YOUNG = "young"


def trial_age(
    *, compiled_ahead: bool, warm_class: str | None, compile_s: float | None, load_s: float | None
) -> TrialAge | None:
    """Return the age of a trial from what was recorded of it; ``None``: there was no load, or the records do not say.

    *Young*: it did not settle in its warm-up, or JIT compilers worked for more than ``COMPILED_SHARE`` of the load.
    *Warm*: it settled, and they worked for no more. *AOT-compiled*: no JIT compiler was there to wait for. A JVM that
    compiled little without a warm-up in windows may be settled, or have had too few requests to compile for.

    Args:
        compiled_ahead: the program was machine code before it started: Go, a native image.
        warm_class: how the warm-up in windows ended; ``None``: there was none.
        compile_s: work of the JIT compilers during the load; ``None``: there are none, or they did not tell.
        load_s: length of that load; ``None``: there was none.
    """
    if load_s is None or load_s <= 0:
        return None
    if warm_class not in (None, SETTLED) or (compile_s is not None and compile_s > COMPILED_SHARE * load_s):
        return "young"
    if compiled_ahead and compile_s is None:
        return "aot-compiled"
    return "warm" if warm_class == SETTLED and compile_s is not None else None


class ArmAge(Frozen):
    """Age of an arm of a comparison: that of more than half of its trials.

    Without such a majority it is young where half of its trials or more are, else unknown.
    """

    age: TrialAge | Literal["unknown"]
    n: int  # trials of the arm whose block has the other arm too
    n_young: int
    n_unknown: int = 0  # trials whose records do not say
    n_left_out: int = 0  # of them, for their age: the comparison is made without them

    @property
    def warm(self) -> bool:
        """Whether what was measured of it is that of a process that has warmed up, or needs not."""
        return self.age in ("warm", "aot-compiled")

    @property
    def in_words(self) -> str:
        """Return ``young in 17 of 20 trials``, ``young``, ``warm`` or ``of unknown age``."""
        if self.age == YOUNG and self.n_young < self.n:
            return f"{YOUNG} in {self.n_young} of {self.n} trials"
        return "of unknown age" if self.age == "unknown" else self.age

    @property
    def left_out(self) -> str:
        """Return ``3 young of 28 trials``, of which the comparison is made without."""
        kind = YOUNG if not self.n_unknown else f"{YOUNG} or of unknown age"
        return f"{self.n_left_out} {kind} of {self.n} trials"


class Ages(Frozen):
    """Age of both arms of a comparison."""

    variant: ArmAge
    reference: ArmAge

    @property
    def young(self) -> bool:
        """Whether an arm is young: then the ratio is one of young processes, and answers nothing on warm ones."""
        return YOUNG in (self.variant.age, self.reference.age)

    @property
    def warm(self) -> bool:
        """Whether both arms have warmed up, or are compiled ahead of time."""
        return self.variant.warm and self.reference.warm

    @property
    def n_left_out(self) -> int:
        """How many trials of both arms the comparison is made without, for their age."""
        return self.variant.n_left_out + self.reference.n_left_out


def with_age(word: str, young: bool) -> str:
    """Return a verdict with the age of what it is of: ``different``, or of young processes ``different, young``."""
    return f"{word}, {YOUNG}" if young else word


def ratio_with_age(ratio: str, young: bool) -> str:
    """Return a ratio in words with its age: ``1.2 (1.1 to 1.3)``, or of young processes ``1.2 (1.1 to 1.3, young)``."""
    return f"{ratio[:-1]}, {YOUNG})" if young and ratio.endswith(")") else with_age(ratio, young)

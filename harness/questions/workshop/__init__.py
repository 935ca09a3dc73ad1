# SPDX-License-Identifier: Apache-2.0
"""How much does one trial tell? The tables of the workshop."""

from harness.questions.workshop.tables import noise_words, trial_values, verdict_table

__all__ = ["noise_words", "trial_values", "verdict_table"]

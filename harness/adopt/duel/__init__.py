# SPDX-License-Identifier: Apache-2.0
"""Two versions of one service, measured in turns: which folders they are, and whether they answer alike."""

from harness.adopt.duel.files import Agreement, Duel, Rate, agreed_contract, replay, set_up
from harness.adopt.duel.sides import Side, sides

__all__ = ["Agreement", "Duel", "Rate", "Side", "agreed_contract", "replay", "set_up", "sides"]

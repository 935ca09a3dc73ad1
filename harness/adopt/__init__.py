# SPDX-License-Identifier: Apache-2.0
"""What a measurement needs of a service that stands anywhere: ``start`` guesses its start, ``requests`` reads what it
may be asked, ``recording`` compares its answers, and ``workspace`` writes the files."""

from harness.adopt.adopting import Adopted, Order, adopt, workspace_of
from harness.adopt.workspace import Workspace

__all__ = ["Adopted", "Order", "Workspace", "adopt", "workspace_of"]

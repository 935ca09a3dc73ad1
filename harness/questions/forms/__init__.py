# SPDX-License-Identifier: Apache-2.0
"""What do an AOT cache, a trimmed runtime and a native image change?"""

from harness.questions.forms.figures import forms
from harness.questions.forms.results import build_rows, form_rows, results

__all__ = ["build_rows", "form_rows", "forms", "results"]

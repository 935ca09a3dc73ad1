# SPDX-License-Identifier: Apache-2.0
"""What do an AOT cache, a trimmed runtime and a native image change under load, cold and warm?"""

from harness.evidence.warm import warm_services
from harness.publish.warm_results import notes
from harness.questions.forms_load.analysis import leads
from harness.questions.forms_load.figures import leads_of_forms
from harness.questions.forms_load.results import results

__all__ = ["leads", "leads_of_forms", "notes", "results", "warm_services"]

# SPDX-License-Identifier: Apache-2.0
"""From TOML to the model, strictly: experiments, implementations, and the requests of a workload.

Whatever is wrong with a file is one line: the file, the place in it, what was found, what is allowed.
"""

from harness.definitions.extending import read_definition
from harness.definitions.services import (
    contract_folder,
    contract_of,
    load_implementations,
    load_requests,
    service_folder,
    source_folder,
)
from harness.definitions.studies import Study, experiment_files, load_study, usual_launcher

# SPDX-License-Identifier: Apache-2.0
"""The files of a service that stands elsewhere: an experiment, and beside it ``services/NAME``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.adopt.recording import Recording
from harness.adopt.start import Guess
from harness.definitions import load_implementations
from harness.errors import InputError, printable
from harness.model import Implementation
from harness.model.load_tools import ALWAYS_HERE

_WIDTH = 96


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A folder of such files; ``name``: of the experiment and its workload, ``service``: of the service in it."""

    folder: Path
    name: str
    service: str

    @property
    def experiment(self) -> Path:
        return self.folder / f"{self.name}.toml"

    @property
    def workload(self) -> Path:
        return self.folder / "services" / self.name

    @property
    def contract(self) -> Path:
        return self.workload / "contract"

    @property
    def service_toml(self) -> Path:
        return self.workload / self.service / "service.toml"

    def implementation(self, root: Path) -> Implementation:
        """Return the service as its file describes it now.

        Raises:
            InputError: the file is wrong.
        """
        result = load_implementations(root, self.name, self.folder.resolve())
        if self.service not in result:
            raise InputError("no such file", file=self.service_toml)
        return result[self.service]

    def write_service(self, guess: Guess, readiness: str) -> None:
        """Write ``service.toml``."""
        values = {
            "name": self.service, "workload": self.name, "language": guess.language, "framework": guess.framework,
            "runtime": guess.runtime, "source": str(guess.source.resolve()), "build": guess.build, "artifact": ".",
            "start": guess.start, "readiness": readiness, "address": guess.address, "needs": guess.needs,
        }  # fmt: skip
        _write(self.service_toml, as_toml({name: value for name, value in values.items() if value}))

    def write_contract(self, recording: Recording) -> None:
        """Write cases and requests."""
        _write(self.contract / "cases.jsonl", "".join(f"{item.case_line()}\n" for item in recording.recorded))
        lines = (f"{item.request_line(self.name)}\n" for item in recording.repeatable)
        _write(self.contract / "requests.jsonl", "".join(lines))

    def write_schema(self, schema: Sequence[Path]) -> None:
        """Write ``schema.sql`` of these files, in their order; without any, an empty one."""
        text = "\n".join(path.read_text("utf-8") for path in schema)
        _write(self.contract / "schema.sql", text or "-- no tables: the service makes its own\n")

    def write_experiment(self, comments: Sequence[str], generator: str, warm_up: str | None) -> None:
        """Write the experiment with comments above it; ``warm_up``: the tool that loads a JVM until it has settled."""
        windows = f'warm_up = {{ generator = "{warm_up}", users = 16, at_most_s = 60 }}\n' if warm_up else ""
        text = f"""name = "{self.name}"
title = "{self.name}"
question = "What is its capacity on this machine?"
workload = "{self.name}"
reference = "{self.service}"
mix = "{self.name}"
load = "users"

[variants.{self.service}]
implementation = "{self.service}"
runtime = {{ cpus = 1 }}

[profiles.smoke]
blocks = 1

[profiles.smoke.loads.users]
generator = "{ALWAYS_HERE}"
profile = {{ model = "closed", users = 4, loops = 50 }}

[profiles.quick]
blocks = 10
{windows}
[profiles.quick.loads.users]
generator = "{generator}"
profile = {{ model = "closed", users = 16, duration_s = 5 }}
"""
        wrapper = textwrap.TextWrapper(
            _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False
        )
        lines = [line for sentence in comments for line in wrapper.wrap(printable(sentence))]
        _write(self.experiment, "\n".join([*lines, text]))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as problem:
        raise InputError(f"cannot be written: {problem.strerror}", file=path) from None


def as_toml(values: Mapping[str, Any]) -> str:
    """Return a document of TOML, a line for each of its keys; JSON's strings and numbers are TOML's as well."""
    return "".join(f"{name} = {_inline(value)}\n" for name, value in values.items())


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(name)} = {_inline(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)

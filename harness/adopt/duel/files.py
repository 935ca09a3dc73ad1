# SPDX-License-Identifier: Apache-2.0
"""The files of a duel: both versions as services of the recorded contract, and the experiment, in a folder that the
caller removes; and whether both answer as it was recorded: a version that answers less is not a faster one."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.adopt import Workspace
from harness.adopt.adopting import blamed, leanest_tool
from harness.adopt.duel.sides import Side
from harness.adopt.running import DoesNotStart, running_service
from harness.adopt.workspace import as_toml
from harness.conformance import check
from harness.errors import InputError
from harness.loadgen.flow import readiness_request
from harness.measure.session import Assembly
from harness.model import ClosedLoad, Implementation, OpenLoad, RuntimeSettings, Variant
from harness.model.load_tools import LoadTool
from harness.workloads import CASES, REQUESTS, load_all_requests, load_cases

SUFFIX = "-duel"
#: The factor of the loads of a process, and the level at a rate.
LOAD, RATE = "load", "rate"
#: Of what the slower side reaches with the load tool, so that both keep it and the tool has room.
SHARE = 0.4
RATE_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A load at a rate. ``per_s``: requests per second; ``None``: a share of what the slower side reaches."""

    generator: str
    per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Duel:
    """``name``: of the experiment; ``sides``: the reference first; ``runtime``: settings of both variants."""

    name: str
    folder: Path
    workload: str
    sides: tuple[Side, Side]
    runtime: dict[str, Any]

    @property
    def experiment(self) -> Path:
        return self.folder / f"{self.name}.toml"

    @property
    def contract(self) -> Path:
        return self.folder / "services" / self.workload / "contract"

    def implementation(self, side: Side, root: Path) -> Implementation:
        """Return the service that stands for a side."""
        return Workspace(folder=self.folder, name=self.workload, service=side.label).implementation(root)

    def variant(self, side: Side) -> Variant:
        """Return the variant that a side is."""
        return Variant(implementation=side.label, runtime=RuntimeSettings(**self.runtime, java=side.java))


def source_of(place: Workspace) -> Path:
    """Return the folder of an adopted service's sources."""
    return (place.service_toml.parent / str(_read(place.service_toml).get("source", "."))).resolve()


def set_up(place: Workspace, sides: tuple[Side, Side], folder: Path, *, rate: Rate | None = None) -> Duel:
    """Write the files of a duel into an empty folder: the adopted experiment with both sides as its variants.

    Args:
        place: the adopted service; start command, contract, loads, warm-up and CPUs are those of both sides.
        rate: what else is offered to each process once its load is over; only where the experiment has no factors.

    Raises:
        InputError: what was adopted is not there, or a JDK is named for a service without one.
    """
    described, data = _read(place.service_toml), _read(place.experiment)
    variant = data.get("variants", {}).get(data.get("reference"), {})
    runtime = {name: value for name, value in variant.get("runtime", {}).items() if name != "java"}
    duel = Duel(
        name=f"{place.name}{SUFFIX}", folder=folder, workload=place.name, sides=sides, runtime=runtime
    )
    named = [side.what for side in sides if side.java is not None]
    if named and described.get("runtime") != "jvm":
        raise InputError(
            "a JDK runs no such service", file=place.service_toml, place="runtime", found=described.get("runtime"),
            allowed=f'"jvm", for {named[0]}',
        )  # fmt: skip
    variant.pop("label", None)
    variants = {}
    for side in sides:
        words = {**described, "name": side.label, "workload": place.name, "source": str(side.source)}
        file = folder / "services" / place.name / side.label / "service.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_toml(words), "utf-8")
        java = {} if side.java is None else {"java": side.java}
        variants[side.label] = variant | {"implementation": side.label, "runtime": runtime | java}
    if not (place.contract / "requests.jsonl").is_file():
        raise InputError("no contract", file=place.contract, allowed="one that rematch adopt recorded")
    shutil.copytree(place.contract, duel.contract)
    data |= {
        "name": duel.name,
        "title": f"{sides[0].what} and {sides[1].what}",
        "question": "Which of the two is faster, and at what cost?",
        "reference": sides[0].label,
        "variants": variants,
    }
    for profile in data.get("profiles", {}).values():
        profile.pop("variants", None)
    if rate is not None and not data.get("factors") and data.get("load"):
        _add_rate(data, rate)
    duel.experiment.write_text(as_toml(data), "utf-8")
    return duel


def _add_rate(data: dict[str, Any], rate: Rate) -> None:
    """Have the process of each trial take a second load, at a rate that both sides keep: CPU time per request is about
    the services there also where the load generator is slower than they are."""
    data["same_process"] = LOAD
    data["factors"] = {LOAD: {"users": {"load": data.pop("load")}, RATE: {"load": RATE}}}
    for name, profile in data.get("profiles", {}).items():
        if name == "smoke":
            profile["levels"] = {LOAD: ["users"]}
            continue
        offered = {"model": "open", "duration_s": RATE_S, "arrivals": "constant"}
        if rate.per_s is not None:
            load = {"generator": rate.generator, "profile": {**offered, "rate_per_s": rate.per_s}}
            profile.setdefault("loads", {})[RATE] = load
        elif not profile.get("scaled_loads"):
            load = {"generator": rate.generator, "profile": {**offered, "rate_share": SHARE}}
            profile |= {
                "scaled_loads": {RATE: load},
                "calibration": {"generator": rate.generator, "of": "slowest", "users": 16},
            }


def rate_tool(assembly: Assembly, contract: Path) -> str | None:
    """Return the leanest load tool here that offers this contract both a rate and users without a pause, by whom a
    rate can be found; ``None``: there is none."""
    requests = load_all_requests(contract)
    profiles = (
        OpenLoad(rate_per_s=100.0, duration_s=RATE_S, arrivals="constant"),
        ClosedLoad(users=16, duration_s=4.0),
    )

    def offers_both(tool: LoadTool) -> bool:
        adapter = assembly.generators[tool.name]()
        return all(adapter.supports(profile, requests) is None for profile in profiles)

    tool = leanest_tool(assembly, offers_both)
    return None if tool is None else tool.name


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError:
        raise InputError(
            "no adopted service here", file=file, allowed="the experiment that rematch adopt wrote (--as)"
        ) from None
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"broken TOML: {problem}", file=file) from None


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """``differences``: side -> case -> what it answers in place of the recorded answer."""

    n_cases: int
    differences: dict[str, dict[str, str]]

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that at least one side answers in another way."""
        return tuple(dict.fromkeys(case for difference in self.differences.values() for case in difference))


def replay(duel: Duel, assembly: Assembly, *, ready_s: float, say: Callable[[str], None]) -> Agreement:
    """Ask both sides every case of the contract, each in a process of its own.

    Raises:
        InputError: a side does not start; the message names the line of its ``service.toml``.
    """
    cases = load_cases(duel.contract)
    first = readiness_request(load_all_requests(duel.contract))
    results: dict[str, dict[str, str]] = {}
    for side in duel.sides:
        implementation = duel.implementation(side, assembly.root)
        try:
            with running_service(
                assembly, implementation, duel.variant(side), ready_path=first.path, ready_s=ready_s, say=say
            ) as running:
                result = check(
                    running.instance.endpoint, cases, "matched", implementation.language, implementation.name
                )
        except DoesNotStart as problem:
            file = duel.folder / "services" / duel.workload / side.label / "service.toml"
            raise InputError(
                f"{problem.reason}; both versions are started as the adopted service.toml says",
                file=side.what, place=blamed(problem, file).place,
            ) from None  # fmt: skip
        pairs = (failure.partition(": ") for failure in result.failures)
        results[side.label] = {case: text for case, _, text in pairs}
    return Agreement(n_cases=len(cases), differences=results)


def agreed_contract(duel: Duel, left_out: Collection[str]) -> None:
    """Take these cases, and the requests of the same names, out of the duel's own copy of the contract.

    Raises:
        InputError: no request is left.
    """
    for name in (CASES, REQUESTS):
        file = duel.contract / name
        lines = [line for line in file.read_text("utf-8").split("\n") if line.strip()]
        retained = [line for line in lines if json.loads(line)["name"] not in left_out]
        if name == REQUESTS and not retained:
            raise InputError(
                "no request is answered alike by both versions",
                place="--allow",
                found=", ".join(sorted(left_out)),
            )
        file.write_text("".join(f"{line}\n" for line in retained), "utf-8")

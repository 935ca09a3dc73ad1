# SPDX-License-Identifier: Apache-2.0
"""``rematch check --host``: what a far machine is fit for, in words and as the exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.check_remote import no_java
from harness.tests.support.command import run_here
from harness.tests.support.sessions import make_session_project
from harness.tests.support.sshd import Sshd
from harness.toolchains import Jdk

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Run the command for a host described so; return exit code, stdout, stderr."""

    def run(sshd: Sshd, *words: str, **more: Any) -> tuple[int, str, str]:
        told = sshd.settings(tmp_path / "base", **more).model_dump(exclude_none=True)
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
        root = tmp_path / "project"
        if not root.exists():
            make_session_project(root)
        (root / "hosts.toml").write_text("\n".join(["[hosts.bighost]", *lines]))
        return run_here(root, "check", *words)

    return run


def test_a_fit_machine_ends_with_0_and_says_for_which_roles(sshd: Sshd, check: Check) -> None:
    code, out, err = check(sshd, "--host", "bighost", "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    fit = found["fit_for"]
    assert fit["services"] and fit["load"]  # this very Python has Locust, and so has its machine
    assert fit["java"] == any(int(jdk["version"].split(".")[0].split("+")[0]) >= 21 for jdk in found["jdks"])
    assert found["generators"]["jmeter"] is None or not found["jdks"]
    assert fit["database"] == (found["database"]["version"] is not None)
    assert (found["database"]["reason"] is None) == fit["database"]
    assert any("service_address is its loopback" in remark for remark in fit["remarks"])


def test_what_makes_a_machine_unfit_is_said_and_it_ends_with_1(tmp_path: Path, check: Check) -> None:
    with Sshd(tmp_path / "sshd", more="AllowTcpForwarding no") as strict:
        code, out, _ = check(strict, "--host", "bighost", service_address="192.0.2.77")
    assert code == 1
    said = " ".join(out.split())
    assert "- service_address 192.0.2.77 is none of its addresses" in said
    assert "its sshd forwards no ports" in said
    (fit,) = [line for line in out.splitlines() if line.startswith("fit for: ")]
    assert "load" in fit and "services" not in fit and "database" not in fit


def test_a_host_that_is_not_known_or_not_there_ends_with_2_and_one_line(sshd: Sshd, check: Check) -> None:
    for words, more, why in (
        (("--host", "otherhost"), {}, "unknown host"),
        (("--host", "bighost"), {"known_hosts": os.devnull}, "its host key is unknown"),
    ):
        code, out, err = check(sshd, *words, **more)
        assert (code, out) == (2, "")
        assert why in err and err.count("\n") == 1


def test_a_jdk_that_is_too_old_for_the_services_is_none() -> None:
    names = ("11.0.2", "17.0.9+9", "21.0.1")
    eleven, old, new = (Jdk(home=Path("/jdk"), version=name, vendor=None) for name in names)
    assert "its newest JDK is 17.0.9+9 and Java services need 21" in (no_java([eleven, old]) or "")
    assert "no JDK" in (no_java([]) or "") and no_java([old, new]) is None

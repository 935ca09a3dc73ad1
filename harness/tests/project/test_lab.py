# SPDX-License-Identifier: Apache-2.0
"""``make lab`` starts JupyterLab at the project, for root too, and asks no other server for anything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.hosts.local import LocalHost
from harness.tests.support.patience import patient

PROJECT = Path(__file__).resolve().parents[3]
STARTED_WITHIN_S = 120.0


def command_of(rule: str, *words: str) -> str:
    """The last command of a rule, with this interpreter's environment in the place of ``.venv``."""
    told = [
        "make",
        "--no-print-directory",
        "-n",
        rule,
        f"VENV={Path(sys.executable).parent}",
        f"LAB_ARGS={' '.join(words)}",
    ]
    done = subprocess.run(told, cwd=PROJECT, capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab with an empty home."""
    port, home = LocalHost().free_port("127.0.0.1"), tmp_path_factory.mktemp("home")
    command = command_of("lab", "--no-browser", "--IdentityProvider.token=t", f"--ServerApp.port={port}")
    log = home / "log"
    with log.open("w") as out:
        child = subprocess.Popen(
            ["sh", "-c", command], cwd=PROJECT, env={**os.environ, "HOME": str(home)},
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        until_s = time.monotonic() + patient(STARTED_WITHIN_S)
        while not answers(f"{address}/api"):
            assert child.poll() is None and time.monotonic() < until_s, log.read_text()
            time.sleep(0.1)
        yield address
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=patient(10)):
            return True
    except (urllib.error.URLError, OSError):
        return False


def asked(address: str) -> Any:
    request = urllib.request.Request(address, headers={"Authorization": "token t"})
    with urllib.request.urlopen(request, timeout=patient(60)) as reply:
        return json.load(reply)


def test_the_file_browser_begins_at_the_project(lab: str) -> None:
    there = {one["name"] for one in asked(f"{lab}/api/contents")["content"]}
    assert {"notebooks", "docs", "data", "README.md"} <= there


def test_nobody_is_asked_whether_there_is_news_or_a_newer_release(lab: str) -> None:
    found = asked(f"{lab}/lab/api/settings/@jupyterlab/apputils-extension:notification")
    defaults = {
        name: one["default"] for name, one in found["schema"]["properties"].items() if "default" in one
    }
    assert defaults["fetchNews"] == "false" and defaults["checkForUpdates"] is False


@pytest.mark.parametrize(("rule", "folder"), [("lab", "notebooks"), ("workshop", "notebooks/workshop")])
def test_the_notebooks_are_shown_first_and_further_words_are_handed_on(rule: str, folder: str) -> None:
    command = command_of(rule, "--no-browser")
    assert f"--LabApp.default_url=/lab/tree/{folder} --no-browser" in command
    assert ("--allow-root" in command) == (os.geteuid() == 0)

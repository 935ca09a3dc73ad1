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

from harness.places.hosts.local import LocalHost
from harness.tests.support.available import PROJECT, patient

STARTED_WITHIN_S = 120.0


def command_of(rule: str, *words: str) -> str:
    """The last command of a rule, with this interpreter's environment in the place of ``.venv``."""
    changes = (f"VENV={Path(sys.executable).parent}", f"LAB_ARGS={' '.join(words)}")
    argv = ["make", "--no-print-directory", "-n", rule, *changes]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


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


def test_the_file_browser_begins_at_the_project_and_no_other_server_is_asked(lab: str) -> None:
    there = {entry["name"] for entry in asked(f"{lab}/api/contents")["content"]}
    assert {"notebooks", "docs", "data", "README.md"} <= there
    settings = asked(f"{lab}/lab/api/settings/@jupyterlab/apputils-extension:notification")
    properties = settings["schema"]["properties"]
    assert properties["fetchNews"]["default"] == "false" and properties["checkForUpdates"]["default"] is False


@pytest.mark.parametrize(("rule", "folder"), [("lab", "notebooks"), ("workshop", "notebooks/workshop")])
def test_the_notebooks_are_shown_first_and_further_words_are_handed_on(rule: str, folder: str) -> None:
    command = command_of(rule, "--no-browser")
    assert f"--LabApp.default_url=/lab/tree/{folder} --no-browser" in command
    assert ("--allow-root" in command) == (os.geteuid() == 0)

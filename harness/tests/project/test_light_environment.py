# SPDX-License-Identifier: Apache-2.0
"""The light environment: a part of the lock file for reading and teaching, and never in place of all of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.tests.support.fake_machine import fake_environment
from harness.tests.support.synthetic import ROOT
from setup import python_env, scope
from setup.light import READING, SPARED, light_lock

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
MEASURING = {"locust", "docker", "paramiko", "psycopg-binary", "lightkube", "pytest", "mypy", "ruff"}


def names(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))


def test_the_light_lock_has_what_reading_needs_with_all_hashes_and_nothing_of_measuring_or_testing() -> None:
    light = light_lock(LOCK)
    assert set(READING) <= names(light)
    assert names(LOCK) >= MEASURING and not names(light) & MEASURING
    assert all(f"\n{line}\n" in f"\n{LOCK}\n" for line in light.splitlines())
    assert all("--hash=sha256:" in entry for entry in re.split(r"^(?=\S)", light, flags=re.MULTILINE)[1:])


def test_what_a_kept_package_requires_is_kept_too() -> None:
    lock = "a==1 \\\n    --hash=x\n    # via rematch (pyproject.toml)\nb==1 \\\n    --hash=y\n    # via\n    #   a\n    #   c\nc==1\n"
    assert names(light_lock(lock, ["a"])) == {"a", "b"}
    with pytest.raises(ValueError, match="not in the lock file: z"):
        light_lock(lock, ["z"])


def test_what_is_spared_is_left_out_with_what_it_alone_requires() -> None:
    lock = "a==1 \\\n    --hash=x\nb==1 \\\n    --hash=y\n    # via a\nc==1 \\\n    --hash=z\n    # via b\n"
    assert names(light_lock(lock, ["a"], spared=["b"])) == {"a"}
    assert set(SPARED) <= names(LOCK) and not set(SPARED) & names(light_lock(LOCK))


def test_kernel_and_completion_do_without_what_is_spared(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({SPARED}))\n"
        "import ipykernel.ipkernel\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance(); shell.user_ns['answer'] = 1\n"
        "print(shell.complete('answ')[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"IPYTHONDIR": str(tmp_path)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['answer']"


def test_reading_takes_the_light_environment_and_measuring_and_testing_take_all() -> None:
    assert all(scope.is_light(*one) for one in (("workshop", "quick"), ("lab", "quick"), ("paper", "sample")))
    assert not any(scope.is_light("paper", profile) for profile in ("smoke", "quick", "full"))
    assert not any(
        scope.is_light(purpose, "quick") for purpose in ("all", "test", "kick-tires", "generators")
    )


def test_the_full_environment_serves_readers_and_the_light_one_serves_nobody_else(tmp_path: Path) -> None:
    fake_environment(tmp_path)
    assert python_env.is_ready(tmp_path, "py", light=True)
    stamp = tmp_path / python_env.STAMP
    stamp.write_text(json.dumps(json.loads(stamp.read_text("utf-8")) | {"light": True}), "utf-8")
    assert python_env.is_ready(tmp_path, "py", light=True)
    assert not python_env.is_ready(tmp_path, "py", light=False)

# SPDX-License-Identifier: Apache-2.0
"""Services that stand anywhere are adopted from a cold start, measured, and held against their next version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.model import Outcome, TrialRecord
from harness.store import Store
from harness.tests.support.available import only_when_long, program_or_not_run
from harness.tests.support.command import run_apart
from harness.tests.support.sessions import make_empty_project, running_with

PYTHON = """import itertools, json, os, signal, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

numbers = itertools.count()


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        answers = {"/hello": {"greeting": "hello"}, "/next": {"number": next(numbers), "of": "all"}}
        found = answers.get(self.path)
        body = json.dumps(found or {"error": "not found"}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Service).serve_forever()
"""
CALLS = "".join(f"curl http://localhost:8080{path}\n" for path in ("/hello", "/next", "/none"))
MODE = """const http = require("http");
http.createServer((request, answer) => {
  answer.setHeader("content-type", "application/json");
  answer.end(JSON.stringify({ mode: process.env.NODE_ENV ?? "none", args: process.execArgv }));
}).listen(Number(process.env.PORT ?? 3000), "::1");
process.on("SIGTERM", () => process.exit(0));
"""
#: A service of Python without a library, whose port is the variable PORT.
BY_PORT = {"app.py": PYTHON, "Procfile": "web: python3 app.py\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project without any workload, service or experiment of its own, and a folder beside it."""
    make_empty_project(tmp_path / "project")
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def service(root: Path, name: str, files: dict[str, str]) -> Path:
    for file, text in files.items():
        (root / "elsewhere" / name / file).parent.mkdir(parents=True, exist_ok=True)
        (root / "elsewhere" / name / file).write_text(text, "utf-8")
    return root / "elsewhere" / name


def rematch(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = run_apart(root / "project", *words, folder=root / "elsewhere")
    # builds of the services of this test lie below its project
    assert not running_with(str(root / "project" / ".cache" / "builds")), done.stderr
    return done


def adopted(root: Path, *words: str) -> dict[str, Any]:
    """Adopt a service, and return what was said of it. At most 12 lines describe it."""
    done = rematch(root, "adopt", *words, "--json")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert len((root / "elsewhere" / said["service_toml"]).read_text("utf-8").splitlines()) <= 12
    return said


def measured(root: Path, *words: str) -> tuple[dict[str, Any], list[TrialRecord]]:
    """Adopt a service and measure it; return what was said of it, and the records of its trials, which are all ok."""
    said = adopted(root, *words, "--profile", "smoke")
    assert "bounded by" in said["capacity"]["headline"]
    assert list(said["lines"]) == ["started", "asked", "bounded", "age", "next"] and all(
        said["lines"].values()
    )
    assert said["lines"]["asked"].count("not part of the load") <= 1
    records = list(Store(root / "project").session(*said["session"].split("/")).records())
    assert records and {record.outcome for record in records} == {Outcome.OK}, records[0].reason
    return said, records


def dueled(root: Path, status: int, *words: str) -> tuple[dict[str, Any], str]:
    """Hold two versions against each other; return what was said of them, and on stderr."""
    done = rematch(root, "duel", *words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_service_is_adopted_measured_and_held_against_its_next_version(root: Path) -> None:
    old = service(root, "old", BY_PORT)
    service(root, "new", {**BY_PORT, "app.py": f"# faster\n{PYTHON}"})
    calls = service(root, "calls", {"calls.curl": CALLS}) / "calls.curl"
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}

    said, records = measured(root, "old", "--requests", str(calls))
    assert [(one["path"], one["volatile"], one["in_load"]) for one in said["requests"]] == [
        ("/hello", [], True), ("/next", ["/number"], True), ("/none", [], False),
    ]  # fmt: skip
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before
    assert all(record.conformance is not None and record.conformance.n_cases == 3 for record in records)

    words = ("old", "new", "--as", said["experiment"], "--profile", "smoke")
    duel, stderr = dueled(root, 2, *words, "--fail-if", "p99 > 9")
    assert "cannot be told" in stderr
    assert duel["cases"] == 3 and duel["differences"] == {"old": {}, "new": {}}
    assert duel["results"]["trials"]["kept"] == 3 and duel["results"]["reference"] == "old"


def test_a_wrong_guess_ends_in_one_line_that_names_the_line_to_change(root: Path) -> None:
    fixed = PYTHON.replace('int(os.environ["PORT"])', "int(sys.argv[1])")
    service(root, "app", {"app.py": fixed, "Procfile": "web: python3 app.py --wrong\n"})
    calls = service(root, "calls", {"calls.curl": CALLS}) / "calls.curl"
    words = ("adopt", "app", "--no-measure", "--requests", str(calls))
    done = rematch(root, *words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    file = root / "elsewhere/app-rematch/services/app/app/service.toml"
    line = next(
        n for n, text in enumerate(file.read_text("utf-8").splitlines(), 1) if text.startswith("start")
    )
    assert f"service.toml: line {line}: start: it exited with 1" in done.stderr
    file.write_text(file.read_text("utf-8").replace('"--wrong"', '"{port}"'), "utf-8")
    done = rematch(root, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("taken as it is") == 1
    experiment = root / "elsewhere/app-rematch/app.toml"
    experiment.write_text(experiment.read_text("utf-8").replace("users = 16", "users = 3"), "utf-8")
    assert rematch(root, *words).stdout.count("taken as it is") == 2
    assert "users = 3" in experiment.read_text("utf-8")


def test_npm_start_is_kept_and_a_service_on_ipv6_alone_is_measured_there(root: Path) -> None:
    program_or_not_run("node")
    script = "NODE_ENV=production node --max-old-space-size=256 src/index.js"
    service(root, "shop", {"package.json": json.dumps({"scripts": {"start": script}}), "src/index.js": MODE})
    calls = service(root, "calls", {"calls.curl": "curl 'http://[::1]:3000/mode'\n"}) / "calls.curl"
    said = adopted(root, "shop", "--requests", str(calls), "--ready-within", "20", "--no-measure")
    (case,) = (root / "elsewhere" / said["contract"] / "cases.jsonl").read_text("utf-8").splitlines()
    assert json.loads(case)["expect"]["json"] == {"mode": "production", "args": ["--max-old-space-size=256"]}
    assert said["guess"]["start"][2:] == [
        "{artifact}", "PORT={port}", "NODE_ENV=production", "node", "--max-old-space-size=256", "src/index.js",
    ]  # fmt: skip
    assert 'address = "::1"' in (root / "elsewhere" / said["service_toml"]).read_text("utf-8")


@only_when_long("waiting for a port that nobody listens on")
def test_a_port_that_is_written_into_the_sources_is_named_as_the_one_it_listens_on(root: Path) -> None:
    service(root, "app", {**BY_PORT, "app.py": PYTHON.replace('int(os.environ["PORT"])', "0")})
    done = rematch(root, "adopt", "app", "--no-measure", "--ready-within", "3")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "start: it listens on 127.0.0.1:" in done.stderr and "not on the {host}:{port}" in done.stderr

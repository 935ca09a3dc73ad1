# SPDX-License-Identifier: Apache-2.0
"""What the files of a folder say of its start, with the line that says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adopt.stacks import guess_of
from harness.errors import InputError

SPRING = "<project><artifactId>a</artifactId><version>2</version><parent>spring-boot</parent></project>"
FOLDERS: dict[str, tuple[dict[str, str], tuple[str, ...], str]] = {
    "go with a flag": (
        {"go.mod": "module a\n", "cmd/a/main.go": 'package main\n\nvar p = flag.Int("port", 1, "")\n'},
        ("{artifact}", "-port={port}"), "cmd/a/main.go:3 defines the flag -port",
    ),
    "node": (
        {"package.json": '{"scripts": {"start": "node a.js"}}', "a.js": "listen(process.env.APP_PORT)"},
        ("env", "-C", "{artifact}", "APP_PORT={port}", "node", "a.js"), "a.js:1 reads the variable APP_PORT",
    ),
    "flask": (
        {"requirements.txt": "# none\n", "web.py": "app = Flask(__name__)\n"},
        ("env", "-C", "{artifact}", "PYTHONPATH={artifact}", "python3", "-m", "flask", "--app", "web:app", "run",
         "--host", "{host}", "--port", "{port}"), "web.py:1 makes a Flask application",
    ),
    "spring": (
        {"pom.xml": SPRING},
        ("{java}", "{runtime_args}", "-jar", "{artifact}", "--server.port={port}", "--server.address={host}"),
        "pom.xml has spring-boot",
    ),
    "gradle": (
        {"build.gradle": "version = '3'\n", "settings.gradle": "rootProject.name = 'b'\n",
         "src/A.java": 'System.getenv("PORT")'},
        ("env", "PORT={port}", "{java}", "{runtime_args}", "-jar", "{artifact}"), "src/A.java:1 reads the variable PORT",
    ),
    "procfile": (
        {"Procfile": "web: node b.js --port $PORT\n", "package.json": "{}", "b.js": ""},
        ("env", "-C", "{artifact}", "PORT={port}", "node", "b.js", "--port", "{port}"), "Procfile: web:",
    ),
    "fixed port": (
        {"go.mod": "module a\n", "main.go": 'package main\nfunc main() { http.ListenAndServe(":8080", nil) }\n'},
        ("env", "PORT={port}", "{artifact}"), "main.go:2 has port 8080 written into it",
    ),
}  # fmt: skip


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_the_start_command_follows_from_the_files(name: str, tmp_path: Path) -> None:
    files, start, why = FOLDERS[name]
    found = guess_of(written(tmp_path, files))
    assert found.start == start and why in found.why["start"]


def test_gradles_jar_has_the_projects_name_and_version(tmp_path: Path) -> None:
    assert guess_of(written(tmp_path, FOLDERS["gradle"][0])).artifact == "build/libs/b-3.jar"


def test_of_a_compose_file_the_database_is_kept_and_the_rest_is_unavailable_with_the_reason(
    tmp_path: Path,
) -> None:
    compose = """
services:
  web: {build: ./web, environment: {DATABASE_URL: "postgres://db/a", PGHOST: db}}
  db: {image: "postgres:17", volumes: ["./init.sql:/docker-entrypoint-initdb.d/init.sql"]}
  cache: {image: "redis:7"}
"""
    files = {"compose.yaml": compose, "init.sql": "create table a ();", "web/server.js": "env.PORT"}
    found = guess_of(written(tmp_path, files))
    assert found.needs == ("postgresql",) and found.schema == (tmp_path / "init.sql",)
    said = " ".join(found.remarks)
    assert "unavailable: service 'cache' (redis:7) needs a container" in said and "DATABASE_URL" in said
    assert found.source == (tmp_path / "web").resolve()


def test_a_folder_that_tells_nothing_is_refused_with_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found 'notes\.txt'; allowed: go\.mod, pom\.xml"):
        guess_of(written(tmp_path, {"notes.txt": ""}))

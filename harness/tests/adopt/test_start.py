# SPDX-License-Identifier: Apache-2.0
"""What the files of a folder say of its start is kept, or shown with the reason why it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.adopt.start import BY_VARIABLE, guess_of
from harness.errors import InputError

IN = ("env", "-C", "{artifact}")
PIP = ("python3", "-m", "pip", "install", "--quiet", "--no-input", "--target", "site-packages-of-service")
SITE = "PYTHONPATH={artifact}/site-packages-of-service:{artifact}"


def package(start: str, **more: object) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": {"start": start, **more}}), "a.js": ""}


SERVER = {"package.json": json.dumps({"main": "server.js"}), "server.js": ""}
SERVER_OF_WEB = {f"web/{name}": text for name, text in SERVER.items()}


FOLDERS: dict[str, tuple[dict[str, str], tuple[str, ...], str]] = {
    "node": (package("node a.js"), (*IN, "PORT={port}", "node", "a.js"), "scripts.start: node a.js"),
    "node with variables and flags": (
        package("NODE_ENV=production A='b c' node --max-old-space-size=256 src/index.js"),
        (*IN, "PORT={port}", "NODE_ENV=production", "A=b c", "node", "--max-old-space-size=256", "src/index.js"),
        "scripts.start: NODE_ENV=production",
    ),
    "node with cross-env": (
        package("cross-env NODE_ENV=production node a.js --port ${PORT:-3000}"),
        (*IN, "NODE_ENV=production", "node", "a.js", "--port", "{port}"), "cross-env",
    ),
    "a program of node_modules": (
        package("no-such-server --lib a.js"), (*IN, "PORT={port}", "node_modules/.bin/no-such-server", "--lib", "a.js"),
        "no-such-server",
    ),
    "npm itself": (
        package("npm start -w packages/api"), (*IN, "PORT={port}", "npm", "start", "--silent"),
        "npm runs it, which only a shell and npm understand, and is part of what is measured",
    ),
    "a script before the start": (
        package("node a.js", prestart="node b.js"), (*IN, "PORT={port}", "npm", "start", "--silent"), "with prestart",
    ),
    "npm alone": (
        {"package.json": "{}", "server.js": ""}, (*IN, "PORT={port}", "npm", "start", "--silent"),
        "neither scripts.start nor main",
    ),
    "procfile": (
        {"Procfile": "web: node b.js --port $PORT\n", "package.json": "{}", "b.js": ""},
        (*IN, "node", "b.js", "--port", "{port}"), "Procfile: web:",
    ),
    "procfile with a shell": (
        {"Procfile": "web: ./migrate && node b.js\n", "package.json": "{}", "index.js": ""},
        (*IN, "PORT={port}", "sh", "-c", "./migrate && node b.js"), "Procfile: web:",
    ),
    "procfile of python": (
        {"Procfile": "web: gunicorn -w 2 app:app -b 0.0.0.0:$PORT\n", "requirements.txt": "gunicorn\n"},
        (*IN, SITE, "python3", "-m", "gunicorn", "-w", "2", "app:app", "-b", "0.0.0.0:{port}"), "Procfile: web:",
    ),
    "procfile of a jar": (
        {"Procfile": "web: java -Xmx1g -jar target/a.jar --server.port=$PORT\n", "pom.xml": ""},
        (*IN, "{java}", "{runtime_args}", "-Xmx1g", "-jar", "target/a.jar", "--server.port={port}"), "Procfile: web:",
    ),
    "procfile of go": (
        {"Procfile": "web: bin/shop -fast\n", "go.mod": "module a\n"},
        (*IN, "PORT={port}", "bin/shop", "-fast"), "Procfile: web:",
    ),
    "procfile alone": ({"Procfile": "web: ./run\n"}, (*IN, "PORT={port}", "./run"), "Procfile: web:"),
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


#: File of a build tool -> its text, what is built by it, and what its refusal without a start command shows.
BUILDS = {
    "go.mod": ("module a\n", ("go", "build", "-o", "bin/", "./..."), "--start 'PORT={port} bin/NAME'"),
    "Cargo.toml": ("", ("cargo", "build", "--release"), "--start 'target/release/NAME --port {port}'"),
    "pom.xml": ("", ("mvn", "-B", "-q", "package", "-DskipTests"), "--start 'java -jar target/NAME.jar"),
    "build.gradle.kts": ("", ("sh", "gradlew", "--no-daemon", "-q", "assemble"), "--start 'java -jar build/libs/"),
    "requirements.txt": ("flask\n", (*PIP, "-r", "requirements.txt"), "--start 'python3 -m gunicorn"),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILDS)
def test_a_start_that_no_file_says_is_asked_for_and_the_build_is_known(name: str, tmp_path: Path) -> None:
    text, build, shown = BUILDS[name]
    written(tmp_path, {name: text, "main.py": ""})
    with pytest.raises(InputError, match="nothing here tells how the service is started") as refused:
        guess_of(tmp_path)
    assert shown in str(refused.value) and "Procfile" in str(refused.value)
    guess = guess_of(tmp_path, "./run --port {port}")
    assert guess.build == build and guess.start[-3:] == ("./run", "--port", "{port}")


def test_a_dockerfile_is_shown_with_the_reason_why_it_is_not_used(tmp_path: Path) -> None:
    docker = {"Dockerfile": "FROM a\nENV MODE=fast\nCMD ['/a',  '-x']\n"}
    (remark,) = guess_of(written(tmp_path / "a", {**SERVER, **docker})).remarks
    assert "not used, because its paths are those of an image" in remark
    assert "ENV MODE=fast; CMD ['/a', '-x']" in remark
    with pytest.raises(InputError, match=r"CMD \['/a', '-x'\].*--start 'target/release/NAME"):
        guess_of(written(tmp_path / "b", {"Cargo.toml": "", **docker}))
    compose = {"docker-compose.yml": "services: {web: {build: .}}", **docker}
    with pytest.raises(InputError) as refused:
        guess_of(written(tmp_path / "c", compose))
    for words in (
        "docker-compose.yml builds web",
        "it says: ENV MODE=fast; CMD ['/a', '-x']",
        "--build 'make'",
    ):
        assert words in str(refused.value)


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("A=1 node a.js {port}", (*IN, "A=1", "node", "a.js", "{port}")),
        ("env -C {artifact}/api node a.js {port}", ("env", "-C", "{artifact}/api", "node", "a.js", "{port}")),
        ("A=1 {artifact}/run {port}", ("env", "A=1", "{artifact}/run", "{port}")),
        (
            "java -jar {artifact}/a.jar {port}",
            ("{java}", "{runtime_args}", "-jar", "{artifact}/a.jar", "{port}"),
        ),
        ("./run --home ${HOME} {port}", (*IN, "sh", "-c", "./run --home ${HOME} {port}")),
    ],
)
def test_a_command_of_the_user_is_kept(command: str, start: tuple[str, ...], tmp_path: Path) -> None:
    found = guess_of(tmp_path, command)
    assert found.start == start and (found.runtime == "jvm") == ("java" in command)


COMPOSE = """
services:
  web:
    build: ./web
    env_file: web.env
    ports: ["9090:8080"]
    environment:
      DATABASE_URL: "postgres://app:pw@db:5432/shop?sslmode=disable"
      SPRING_DATASOURCE_URL: jdbc:postgresql://db/shop
      DB_HOST: db
      DB_USER: app
      DB_PASSWORD: pw
      PGHOST: db
      LISTEN_ADDR: ":8080"
      MODE: fast lane
      CACHE: redis://cache:6379
  db:
    image: "postgres:17"
    environment: {POSTGRES_USER: app, POSTGRES_PASSWORD: pw, POSTGRES_DB: shop}
    volumes: ["./init.sql:/docker-entrypoint-initdb.d/init.sql"]
  cache: {image: "redis:7"}
"""


def test_a_compose_file_gives_variables_with_the_trials_database_and_port(tmp_path: Path) -> None:
    files = {"compose.yaml": COMPOSE, "init.sql": "create table a ();", **SERVER_OF_WEB}
    found = guess_of(written(tmp_path, files))
    assert found.needs == ("postgresql",) and found.schema == (tmp_path / "init.sql",)
    assert found.source == (tmp_path / "web").resolve()
    assert found.start == (
        "sh", "-c",
        'exec env "DATABASE_URL=postgres://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT/$PGDATABASE?sslmode=disable" '
        '"SPRING_DATASOURCE_URL=jdbc:postgresql://$PGHOST:$PGPORT/$PGDATABASE" "DB_HOST=$PGHOST" "DB_USER=$PGUSER" '
        "\"DB_PASSWORD=$PGPASSWORD\" 'LISTEN_ADDR={host}:{port}' 'MODE=fast lane' \"$@\"",
        "sh", *IN, "node", "server.js",
    )  # fmt: skip
    assert BY_VARIABLE not in found.why["start"] and "LISTEN_ADDR" in found.why["start"]
    assert BY_VARIABLE in guess_of(tmp_path / "web").why["start"]
    said = " ".join(found.remarks)
    assert "unavailable: service 'cache' (redis:7) needs a container" in said
    assert "CACHE=redis://cache:6379 is not set" in said and "its env_file is not read" in said


def test_variables_are_those_that_compose_would_set_and_need_no_shell(tmp_path: Path) -> None:
    environment = "{DEBUG: false, TOKEN: null, N: 3, PORT: 80}, ports: [{target: 80, published: 9090}]"
    compose = f"services: {{web: {{build: ., environment: {environment}, volumes: null, expose: null}}}}"
    found = guess_of(written(tmp_path, {"compose.yaml": compose, **SERVER}))
    assert found.start == (*IN, "DEBUG=false", "N=3", "PORT={port}", "node", "server.js")
    assert "TOKEN=$TOKEN is not set: it is of another service, or of the shell" in found.remarks


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"compose.yaml": "services: {web: {build: https://git.example.org/shop.git}}", **SERVER},
         r"compose.yaml: services.web.build: is built in no folder"),
        ({"notes.txt": ""}, r"found 'notes\.txt'; allowed: package\.json, compose\.yaml or a Procfile.*--start"),
    ],
    ids=["built elsewhere", "nothing told"],
)  # fmt: skip
def test_a_folder_that_tells_no_start_is_refused(files: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        guess_of(written(tmp_path, files))

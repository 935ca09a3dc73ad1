# SPDX-License-Identifier: Apache-2.0
"""What the files of a folder say of its start is kept, or shown with the reason why it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.adopt.guess import BY_VARIABLE
from harness.adopt.stacks import guess_of
from harness.adopt.stacks.commands import own_start
from harness.errors import InputError

SPRING = "<project><artifactId>a</artifactId><version>2</version><parent>spring-boot</parent></project>"
MAIN = "package main\n"
JVM = ("{java}", "{runtime_args}", "-jar", "{artifact}")
IN = ("env", "-C", "{artifact}")
SITE = "PYTHONPATH={artifact}/site-packages-of-service:{artifact}"


def package(start: str, **more: object) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": {"start": start, **more}}), "a.js": ""}


FOLDERS: dict[str, tuple[dict[str, str], tuple[str, ...], str]] = {
    "go": (
        {"go.mod": "module a\n", "cmd/a/main.go": MAIN, "cmd/a/b/b.go": MAIN},
        ("env", "PORT={port}", "{artifact}"), "the variable PORT is the usual one",
    ),
    "rust": ({"Cargo.toml": '[package]\nname = "kv"\n'}, ("env", "PORT={port}", "{artifact}"), "PORT"),
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
    "a script alone": ({"src/server.js": ""}, (*IN, "PORT={port}", "node", "src/server.js"), "src/server.js"),
    "flask": (
        {"requirements.txt": "# none\n", "web.py": "app = Flask(__name__)\n"},
        (*IN, "PYTHONPATH={artifact}", "python3", "-m", "flask", "--app", "web:app", "run", "--host", "{host}",
         "--port", "{port}"), "web.py makes a Flask application",
    ),
    "flask with gunicorn": (
        {"requirements.txt": "flask==3.1\nGunicorn>=23\n", "shop/__init__.py": "app: Flask = Flask(__name__)\n"},
        (*IN, SITE, "python3", "-m", "gunicorn", "--bind", "{host}:{port}", "shop:app"), "gunicorn as in its requirements",
    ),
    "fastapi with uvicorn": (
        {"pyproject.toml": '[project]\ndependencies = ["fastapi", "uvicorn"]\n', "src/a/main.py": "api = FastAPI()\n"},
        (*IN, f"{SITE}:{{artifact}}/src", "python3", "-m", "uvicorn", "a.main:api", "--host", "{host}", "--port",
         "{port}", "--no-access-log"), "uvicorn as in its requirements",
    ),
    "django with gunicorn": (
        {"requirements.txt": "django\ngunicorn\n", "manage.py": "", "shop/wsgi.py": ""},
        (*IN, SITE, "python3", "-m", "gunicorn", "--bind", "{host}:{port}", "shop.wsgi:application"), "wsgi.py makes",
    ),
    "spring": ({"pom.xml": SPRING}, (*JVM, "--server.port={port}", "--server.address={host}"), "spring-boot takes its"),
    "gradle": (
        {"build.gradle": "version = '3'\n", "settings.gradle": "rootProject.name = 'b'\n"},
        ("env", "PORT={port}", *JVM), "PORT",
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
        {"Procfile": "web: java -Xmx1g -jar target/a.jar --server.port=$PORT\n", "pom.xml": SPRING},
        ("{java}", "{runtime_args}", "-Xmx1g", "-jar", "{artifact}", "--server.port={port}"), "Procfile: web:",
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


@pytest.mark.parametrize(
    ("name", "artifact"),
    [("gradle", "build/libs/b-3.jar"), ("spring", "target/a-2.jar"), ("rust", "target/release/kv")],
)
def test_what_is_built_has_the_projects_name(name: str, artifact: str, tmp_path: Path) -> None:
    assert guess_of(written(tmp_path, FOLDERS[name][0])).artifact == artifact


def test_the_package_of_a_go_program_is_found(tmp_path: Path) -> None:
    found = guess_of(written(tmp_path, FOLDERS["go"][0]))
    assert found.build[-1] == "./cmd/a" and "package main is in ./cmd/a" in found.why["build"]


def test_a_development_server_is_named_as_one(tmp_path: Path) -> None:
    assert "development server of Flask" in guess_of(written(tmp_path, FOLDERS["flask"][0])).remarks[0]


def test_a_dockerfile_is_shown_with_the_reason_why_it_is_not_used(tmp_path: Path) -> None:
    files = {"go.mod": "module a\n", "Dockerfile": "FROM a\nENV MODE=fast\nCMD ['/a',  '-x']\n"}
    (said,) = guess_of(written(tmp_path, files)).remarks
    assert (
        "not used, because its paths are those of an image" in said
        and "ENV MODE=fast; CMD ['/a', '-x']" in said
    )


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("A=1 node a.js {port}", (*IN, "A=1", "node", "a.js", "{port}")),
        ("env -C {artifact}/api node a.js {port}", ("env", "-C", "{artifact}/api", "node", "a.js", "{port}")),
        ("{artifact}/run --port {port}", ("{artifact}/run", "--port", "{port}")),
        ("A=1 {artifact}/run {port}", ("env", "A=1", "{artifact}/run", "{port}")),
        ("./run --home ${HOME} {port}", (*IN, "sh", "-c", "./run --home ${HOME} {port}")),
    ],
)
def test_a_command_of_the_user_is_kept(command: str, start: tuple[str, ...], tmp_path: Path) -> None:
    assert own_start(None, tmp_path, command).start == start


def test_a_java_command_of_the_user_is_a_jvm(tmp_path: Path) -> None:
    found = own_start(None, tmp_path, "java -Xmx1g -jar {artifact}/a.jar {port}")
    assert found.runtime == "jvm"
    assert found.start == ("{java}", "{runtime_args}", "-Xmx1g", "-jar", "{artifact}/a.jar", "{port}")


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
    files = {"compose.yaml": COMPOSE, "init.sql": "create table a ();", "web/server.js": ""}
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
    said = " ".join(found.remarks)
    assert "unavailable: service 'cache' (redis:7) needs a container" in said
    assert "CACHE=redis://cache:6379 is not set" in said and "its env_file is not read" in said


def test_variables_without_a_database_need_no_shell(tmp_path: Path) -> None:
    compose = "services: {web: {build: ., environment: [MODE=fast, 'PORT=80'], expose: [80]}}"
    found = guess_of(written(tmp_path, {"compose.yaml": compose, "server.js": ""}))
    assert found.start == (*IN, "MODE=fast", "PORT={port}", "node", "server.js")


def test_variables_are_those_that_compose_would_set(tmp_path: Path) -> None:
    environment = "{DEBUG: false, TOKEN: null, N: 3}, ports: [{target: 80, published: 9090}]"
    compose = f"services: {{web: {{build: ., environment: {environment}, volumes: null, expose: null}}}}"
    found = guess_of(written(tmp_path, {"compose.yaml": compose, "server.js": ""}))
    assert found.start == (*IN, "DEBUG=false", "N=3", "PORT={port}", "node", "server.js")
    assert "TOKEN=$TOKEN is not set: it is of another service, or of the shell" in found.remarks


def test_a_compose_file_that_builds_elsewhere_is_refused(tmp_path: Path) -> None:
    compose = "services: {web: {build: https://git.example.org/shop.git}}"
    with pytest.raises(InputError, match=r"compose.yaml: services.web.build: is built in no folder"):
        guess_of(written(tmp_path, {"compose.yaml": compose, "server.js": ""}))


def test_requirements_that_other_requirements_name_are_read(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "-r base.txt\n",
        "base.txt": "gunicorn\n-r requirements.txt\n",
        "app.py": "app = Flask(a)\n",
    }
    assert "gunicorn" in guess_of(written(tmp_path, files)).start


def test_a_folder_that_tells_nothing_is_refused_with_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found 'notes\.txt'; allowed: package\.json, go\.mod.*--start"):
        guess_of(written(tmp_path, {"notes.txt": ""}))

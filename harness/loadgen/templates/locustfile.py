# SPDX-License-Identifier: Apache-2.0
"""Script of Locust. Reads order.json and requests.json beside it; writes samples.csv there.

Runs inside Locust's own process, where nothing of the harness is imported.
"""

import json
import random
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]  # gevent ships no types
from locust import FastHttpUser, events, task

FOLDER = Path(__file__).resolve().parent
ORDER = json.loads((FOLDER / "order.json").read_text(encoding="utf-8"))
PROFILE = ORDER["profile"]
BATCH = 500
#: Longer than any load: the wait of a user who is done.
FOR_EVER_S = 1e6
#: Other texts of a right JSON value that are kept, so that each is parsed once.
MOST_TEXTS = 64


class Samples:
    """Rows of finished requests, written in batches: one write for 500 requests."""

    def __init__(self) -> None:
        self.stream = (FOLDER / "samples.csv").open("wb", buffering=0)
        self.stream.write(b"start_epoch_s,latency_ms,ok,name,error\n")
        self.rows: list[str] = []

    def add(
        self,
        *,
        name: str,
        response_time: float,
        start_time: float,
        exception: BaseException | None = None,
        **_: Any,
    ) -> None:
        """Listen to events.request."""
        fault = "" if exception is None else type(exception).__name__
        fault = str(exception) if isinstance(exception, Wrong) else fault
        right = "true" if exception is None else "false"
        self.rows.append(f"{start_time:.6f},{response_time:.4f},{right},{name},{fault}\n")
        if len(self.rows) >= BATCH:
            self.flush()

    def flush(self, **_: Any) -> None:
        rows, self.rows = self.rows, []
        self.stream.write("".join(rows).encode())


class Wrong(Exception):
    """An answer that is not the expected one; its text, a field of csv without commas, is the kind of error."""


class Step:
    """One request; of a flow its texts are cut at the places of captured values, of a plain mix they are made once."""

    def __init__(self, step: dict[str, Any], carried: str) -> None:
        name = step["name"]
        self.name = '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n\r') else name
        self.method, self.status = step["method"], step["status"]
        self.path, self.headers, self.body = step["path"], step["headers"], step["body"]
        self.capture, self.right, self.carried = step["capture"], step["right"], re.compile(carried)
        self.json, self.sent = step["json"], None if carried else self.texts({})
        rights = [filled(body, {}).encode() for body in self.right or ()] if self.sent else []
        self.known, self.values = set(rights), set(map(value_of, rights)) if self.json else set()

    def texts(self, values: dict[str, Any]) -> tuple[str, bytes | None, dict[str, str]]:
        """Return path, body and headers as they are sent."""
        body = None if self.body is None else filled(self.body, values).encode()
        headers = {name: filled(text, values) for name, text in self.headers.items()}
        return filled(self.path, values), body, headers

    def make(self, client: Any, values: dict[str, Any]) -> bool:
        """Ask, take what is to be captured, and return whether the answer was right."""
        path, data, headers = self.sent or self.texts(values)
        with client.request(
            self.method,
            path,
            name=self.name,
            data=data,
            headers=headers,
            catch_response=True,
            allow_redirects=False,
        ) as response:
            if response.status_code != self.status:
                if response.status_code:  # 0: no answer at all, and the exception says why
                    response.failure(Wrong(f"status {response.status_code}"))
                return False
            fault = self.take(response.content, values) or self.fault(response.content, values)
            if fault is None:
                response.success()
            else:
                response.failure(Wrong(fault))
            return fault is None

    def take(self, content: bytes, values: dict[str, Any]) -> str | None:
        """Put what is captured into the values; return what is missing."""
        document = loaded(content) if self.capture else None
        for name, way in self.capture.items():
            value = looked_up(document, way)
            if not isinstance(value, str | int) or not self.carried.fullmatch(bare(value)):
                return f"no {name}"
            values[name] = value
        return None

    def fault(self, content: bytes, values: dict[str, Any]) -> str | None:
        """Compare the body as a text, and where JSON is expected as a value too; return what is wrong."""
        if self.right is None or content in self.known:
            return None
        if self.sent is None:
            texts = [filled(body, values).encode() for body in self.right]
            same = content in texts or (self.json and value_of(content) in map(value_of, texts))
            return None if same else "wrong body"
        if not self.values or value_of(content) not in self.values:
            return "wrong body"
        if len(self.known) < MOST_TEXTS:
            self.known.add(content)
        return None


def loaded(text: str | bytes) -> Any:
    """Return a JSON text's value; None: it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def value_of(text: str | bytes) -> str:
    """Return a JSON text with its keys in order."""
    return json.dumps(loaded(text), sort_keys=True)


def looked_up(value: Any, way: list[str | int]) -> Any:
    """Return the value at the end of the way; None: there is no such place."""
    for part in way:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        else:
            return None
    return value


def bare(value: Any) -> str:
    """Return a captured value without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def filled(cut: list[Any], values: dict[str, Any]) -> str:
    """Return the text of pieces."""
    return "".join(
        piece if isinstance(piece, str) else (json.dumps if piece["as_json"] else bare)(values[piece["name"]])
        for piece in cut
    )


ASKED = json.loads((FOLDER / "requests.json").read_text(encoding="utf-8"))
STEPS = [Step(step, ASKED["carried"]) for step in ASKED["steps"]]
TOTAL_WEIGHT = list(accumulate(request["weight"] for request in ORDER["requests"]))
RANDOM = random.Random(ORDER["seed"])
SAMPLES = Samples()
FINISHED: list[FastHttpUser] = []
events.request.add_listener(SAMPLES.add)  # type: ignore[no-untyped-call]  # untyped in Locust
events.quitting.add_listener(SAMPLES.flush)  # type: ignore[no-untyped-call]  # untyped in Locust


class Asker(FastHttpUser):
    """A user that waits for its answer before it asks again."""

    connection_timeout = network_timeout = 60.0
    max_retries = 0

    def on_start(self) -> None:
        self.left = PROFILE["loops"]

    def wait_time(self) -> float:
        """Return the pause; a user who is done stays, for one who left while others still come would be replaced."""
        return FOR_EVER_S if self.left == 0 else float(PROFILE["think_time_s"])

    @task
    def ask(self) -> None:
        """Ask one request, chosen by weight, or go once through the flow."""
        if ASKED["carried"]:
            self.go_through()
        else:
            chosen = STEPS if len(STEPS) == 1 else RANDOM.choices(STEPS, cum_weights=TOTAL_WEIGHT)
            chosen[0].make(self.client, {})
        if self.left is None:
            return
        self.left -= 1
        if self.left == 0:
            FINISHED.append(self)
            self.client.client.close()  # its connection goes with it
            if len(FINISHED) == PROFILE["users"]:
                gevent.spawn(self.environment.runner.quit)

    def go_through(self) -> None:
        """Make the steps in order; after a wrong answer the rest of this pass is left out."""
        values: dict[str, Any] = {}
        for number, step in enumerate(STEPS):
            if number and PROFILE["think_time_s"]:
                gevent.sleep(PROFILE["think_time_s"])
            if not step.make(self.client, values):
                return


def begin(environment: Any, **_: Any) -> None:
    """End by duration: --run-time has no parts of seconds."""
    if PROFILE["duration_s"] is not None:
        gevent.spawn_later(PROFILE["duration_s"], environment.runner.quit)


events.test_start.add_listener(begin)  # type: ignore[no-untyped-call]  # untyped in Locust

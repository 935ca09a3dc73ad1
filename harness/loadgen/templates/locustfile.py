# SPDX-License-Identifier: Apache-2.0
"""What Locust runs. Reads order.json beside it, and flow.json or answers.json; writes samples.csv and
totals.json there.

Runs inside Locust's own process, where nothing of the harness is imported.
"""

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]  # gevent ships no types
from locust import FastHttpUser, events, task

FOLDER = Path(__file__).resolve().parent
ORDER = json.loads((FOLDER / "order.json").read_text(encoding="utf-8"))
PROFILE = ORDER["profile"]
BATCH = 500
#: Longer than any load: what a user waits who is done.
FOR_EVER_S = 1e6
#: Other texts of a right JSON value that are kept, so that each is parsed once.
MOST_TEXTS = 64


class Samples:
    """Rows of finished requests, written in batches: one write for 500 requests."""

    def __init__(self) -> None:
        self.stream = (FOLDER / "samples.csv").open("wb", buffering=0)
        self.stream.write(b"start_epoch_s,latency_ms,ok,name,error\n")
        self.rows: list[str] = []
        self.n_requests = self.n_errors = self.finished_users = 0

    def add(
        self,
        *,
        name: str,
        response_time: float,
        start_time: float,
        exception: BaseException | None = None,
        **_: Any,
    ) -> None:
        """The listener of events.request."""
        self.n_requests += 1
        if exception is None:
            self.rows.append(f"{start_time:.6f},{response_time:.4f},true,{name},\n")
        else:
            self.n_errors += 1
            self.rows.append(f"{start_time:.6f},{response_time:.4f},false,{name},{kind(exception)}\n")
        if len(self.rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        rows, self.rows = self.rows, []
        self.stream.write("".join(rows).encode())

    def close(self, **_: Any) -> None:
        """Write the rest, and what this process itself counted."""
        self.flush()
        totals = {
            "n_requests": self.n_requests,
            "n_errors": self.n_errors,
            "finished_users": self.finished_users,
            "ended_epoch_s": time.time(),
        }
        (FOLDER / "totals.json").write_text(json.dumps(totals) + "\n", encoding="utf-8")


class Wrong(Exception):
    """An answer that is not the expected one; its text is the kind of error."""


def kind(exception: BaseException) -> str:
    """One word or two, without commas: a csv field."""
    return str(exception) if isinstance(exception, Wrong) else type(exception).__name__


def csv_field(text: str) -> str:
    """Quoted when it must be."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n\r') else text


class Exchange:
    """One request of the mix, everything about it made once."""

    def __init__(self, request: dict[str, Any], bodies: list[str] | None) -> None:
        self.method, self.path, self.name = request["method"], request["path"], csv_field(request["name"])
        self.headers = request["headers"]
        self.data = None if request["body"] is None else request["body"].encode()
        self.status = request["expect"]["status"]
        self.right = None if bodies is None else {body.encode() for body in bodies}
        as_json = bodies is not None and request["expect"]["body"] is None
        self.values = {value_of(body) for body in bodies or ()} if as_json else set()

    def is_right(self, content: bytes) -> bool:
        """Whether a body is right: as a text; one that is new, where JSON is expected, as a value."""
        if self.right is None or content in self.right:
            return True
        if not self.values or value_of(content) not in self.values:
            return False
        if len(self.right) < MOST_TEXTS:
            self.right.add(content)
        return True

    def make(self, client: Any) -> None:
        """Ask, and check the answer."""
        with client.request(
            self.method,
            self.path,
            name=self.name,
            data=self.data,
            headers=self.headers,
            catch_response=True,
            allow_redirects=False,
        ) as response:
            if response.status_code != self.status:
                if response.status_code:  # 0: no answer at all, and the exception says why
                    response.failure(Wrong(f"status {response.status_code}"))
            elif not self.is_right(response.content):
                response.failure(Wrong("wrong body"))
            else:
                response.success()


class Step:
    """One request of a flow, its texts cut at the places of captured values."""

    def __init__(self, step: dict[str, Any], carried: str) -> None:
        self.method, self.name, self.status = step["method"], csv_field(step["name"]), step["status"]
        self.path, self.headers, self.body = step["path"], step["headers"], step["body"]
        self.capture, self.right, self.carried = step["capture"], step["right"], re.compile(carried)
        self.json = step["json"]

    def make(self, client: Any, values: dict[str, Any]) -> bool:
        """Ask, take what is to be captured, check the answer; whether it was right."""
        with client.request(
            self.method,
            filled(self.path, values),
            name=self.name,
            data=None if self.body is None else filled(self.body, values).encode(),
            headers={name: filled(text, values) for name, text in self.headers.items()},
            catch_response=True,
            allow_redirects=False,
        ) as response:
            if response.status_code != self.status:
                if response.status_code:  # 0: no answer at all, and the exception says why
                    response.failure(Wrong(f"status {response.status_code}"))
                return False
            fault = self.take(response.content, values) or self.fault(response.content, values)
            if fault is not None:
                response.failure(Wrong(fault))
                return False
            response.success()
            return True

    def take(self, content: bytes, values: dict[str, Any]) -> str | None:
        """Put what is captured into the values; what is missing, or None."""
        if not self.capture:
            return None
        try:
            document = json.loads(content)
        except ValueError:
            document = None
        for name, way in self.capture.items():
            value = looked_up(document, way)
            if not isinstance(value, str | int) or not self.carried.fullmatch(bare(value)):
                return f"no {name}"
            values[name] = value
        return None

    def fault(self, content: bytes, values: dict[str, Any]) -> str | None:
        """What is wrong with the body, or None."""
        if self.right is None:
            return None
        texts = [filled(body, values).encode() for body in self.right]
        same = content in texts or (self.json and value_of(content) in map(value_of, texts))
        return None if same else "wrong body"


def value_of(text: str | bytes) -> str:
    """A JSON text with its keys in order; empty: it is none."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return ""


def looked_up(value: Any, way: list[str | int]) -> Any:
    """What stands at the end of the way; None when there is no such place."""
    for part in way:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        else:
            return None
    return value


def bare(value: Any) -> str:
    """A captured value without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def filled(cut: list[Any], values: dict[str, Any]) -> str:
    """The text of pieces."""
    return "".join(
        piece
        if isinstance(piece, str)
        else (json.dumps(values[piece["name"]]) if piece["as_json"] else bare(values[piece["name"]]))
        for piece in cut
    )


def read_steps() -> list[Step]:
    """The steps of a flow; none of a plain mix."""
    file = FOLDER / "flow.json"
    if not file.exists():
        return []
    flow = json.loads(file.read_text(encoding="utf-8"))
    return [Step(step, flow["carried"]) for step in flow["steps"]]


def read_exchanges() -> list[Exchange]:
    """The requests of a plain mix."""
    answers = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
    return [Exchange(request, answers[request["name"]]) for request in ORDER["requests"]]


STEPS = read_steps()
EXCHANGES = [] if STEPS else read_exchanges()
TOTAL_WEIGHT: list[int] = []
for _request in ORDER["requests"]:
    TOTAL_WEIGHT.append((TOTAL_WEIGHT[-1] if TOTAL_WEIGHT else 0) + _request["weight"])
RANDOM = random.Random(ORDER["seed"])
SAMPLES = Samples()
events.request.add_listener(SAMPLES.add)  # type: ignore[no-untyped-call]  # untyped in Locust
events.quitting.add_listener(SAMPLES.close)  # type: ignore[no-untyped-call]  # untyped in Locust


class Asker(FastHttpUser):
    """A user that waits for its answer before it asks again."""

    connection_timeout = network_timeout = 60.0
    max_retries = 0

    def on_start(self) -> None:
        self.left = PROFILE["loops"]

    def wait_time(self) -> float:
        """A user who is done stays, for one who left while others still come would be replaced."""
        return FOR_EVER_S if self.left == 0 else float(PROFILE["think_time_s"])

    @task
    def ask(self) -> None:
        """One request, chosen by weight; or one pass through the flow."""
        if STEPS:
            self.go_through()
        else:
            exchange = EXCHANGES[0]
            if len(EXCHANGES) > 1:
                exchange = RANDOM.choices(EXCHANGES, cum_weights=TOTAL_WEIGHT)[0]
            exchange.make(self.client)
        if self.left is None:
            return
        self.left -= 1
        if self.left == 0:
            SAMPLES.finished_users += 1
            self.client.client.close()  # its connection goes with it
            if SAMPLES.finished_users == PROFILE["users"]:
                gevent.spawn(self.environment.runner.quit)

    def go_through(self) -> None:
        """The steps in order; after a wrong answer the rest of this pass is left out."""
        values: dict[str, Any] = {}
        for number, step in enumerate(STEPS):
            if number and PROFILE["think_time_s"]:
                gevent.sleep(PROFILE["think_time_s"])
            if not step.make(self.client, values):
                return


def begin(environment: Any, **_: Any) -> None:
    """The end by duration: parts of seconds count, which --run-time does not know."""
    if PROFILE["duration_s"] is not None:
        gevent.spawn_later(PROFILE["duration_s"], environment.runner.quit)


events.test_start.add_listener(begin)  # type: ignore[no-untyped-call]  # untyped in Locust

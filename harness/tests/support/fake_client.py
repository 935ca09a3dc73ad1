# SPDX-License-Identifier: Apache-2.0
"""The program behind FakeLoadGenerator: real requests from the standard library alone.

Usage: python fake_client.py FOLDER. Reads order.json and requests.json there; writes samples.csv.
"""

import http.client
import json
import random
import re
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
ORDER = json.loads((FOLDER / "order.json").read_text(encoding="utf-8"))
ASKED = json.loads((FOLDER / "requests.json").read_text(encoding="utf-8"))
PROFILE, REQUESTS = ORDER["profile"], ORDER["requests"]
RANDOM = random.Random(ORDER["seed"])
LOCK = threading.Lock()
OUT = (FOLDER / "samples.csv").open("w", encoding="utf-8", buffering=1)


def connect() -> http.client.HTTPConnection:
    return http.client.HTTPConnection(ORDER["endpoint"]["host"], ORDER["endpoint"]["port"], timeout=30)


def ask(connection: http.client.HTTPConnection) -> None:
    """One request of a mix, or one pass through a flow, checked and written down."""
    if ASKED["carried"]:
        go_through(connection)
        return
    step = RANDOM.choices(ASKED["steps"], weights=[request["weight"] for request in REQUESTS])[0]
    timed(step["name"], partial(wrong_step, connection, step, {}))


def go_through(connection: http.client.HTTPConnection) -> None:
    """The steps in order, up to the first wrong answer."""
    values: dict[str, Any] = {}
    for number, step in enumerate(ASKED["steps"]):
        if number:
            time.sleep(PROFILE.get("think_time_s", 0.0))
        if timed(step["name"], partial(wrong_step, connection, step, values)):
            return


def timed(name: str, make: Callable[[], str]) -> str:
    """Write one row; what went wrong, or nothing."""
    start_epoch_s, start = time.time(), time.perf_counter()
    error = make()
    latency_ms = (time.perf_counter() - start) * 1000
    with LOCK:
        quoted = name.replace('"', '""')
        OUT.write(f'{start_epoch_s:.6f},{latency_ms:.4f},{str(not error).lower()},"{quoted}",{error}\n')
    return error


def wrong_step(connection: http.client.HTTPConnection, step: dict[str, Any], values: dict[str, Any]) -> str:
    """What is wrong with the answer, empty when nothing is; what it captures goes into ``values``."""
    body = None if step["body"] is None else filled(step["body"], values)
    headers = {name: filled(text, values) for name, text in step["headers"].items()}
    try:
        connection.request(
            step["method"],
            filled(step["path"], values),
            body=None if body is None else body.encode(),
            headers=headers,
        )
        response = connection.getresponse()
        answer = response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as problem:
        connection.close()
        return type(problem).__name__
    if response.status != step["status"]:
        return f"status {response.status}"
    for name, way in step["capture"].items():
        values[name] = looked_up(answer, way)
        if values[name] is None or not re.fullmatch(ASKED["carried"], bare(values[name])):
            return f"no {name}"
    right = step["right"]
    return "" if right is None or answer in [filled(one, values) for one in right] else "wrong body"


def looked_up(answer: str, way: list[str | int]) -> Any:
    """What stands there in the answer, if it is a string or a number."""
    try:
        value = json.loads(answer)
        for part in way:
            value = value[part]
    except (ValueError, LookupError, TypeError):
        return None
    return value if isinstance(value, str | int) else None


def bare(value: Any) -> str:
    """A captured value without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def filled(cut: list[Any], values: dict[str, Any]) -> str:
    """Return the text of pieces."""
    return "".join(
        piece if isinstance(piece, str) else (json.dumps if piece["as_json"] else bare)(values[piece["name"]])
        for piece in cut
    )


def user(delay_s: float, end: float) -> None:
    """A closed-loop user: waits for its answer before it asks again."""
    time.sleep(delay_s)
    connection, left = connect(), PROFILE["loops"]
    while (left is None or left > 0) and time.monotonic() < end:
        ask(connection)
        left = None if left is None else left - 1
        time.sleep(PROFILE["think_time_s"])


def arrival(at: float) -> None:
    """One arrival of an open loop, on its own connection."""
    time.sleep(max(0.0, at - time.monotonic()))
    ask(connect())


def main() -> None:
    """Offer the whole load."""
    OUT.write("start_epoch_s,latency_ms,ok,name,error\n")
    now = time.monotonic()
    if PROFILE["model"] == "closed":
        n, ramp_s = PROFILE["users"], PROFILE["ramp_up_s"]
        end = now + PROFILE["duration_s"] if PROFILE["duration_s"] is not None else float("inf")
        threads = [threading.Thread(target=user, args=(i * ramp_s / n, end)) for i in range(n)]
    else:
        n = int(PROFILE["rate_per_s"] * PROFILE["duration_s"])
        offsets = [i / PROFILE["rate_per_s"] for i in range(n)]
        if PROFILE["arrivals"] == "poisson":
            offsets = sorted(RANDOM.uniform(0, PROFILE["duration_s"]) for _ in range(n))
        threads = [threading.Thread(target=arrival, args=(now + offset,)) for offset in offsets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    OUT.close()


if __name__ == "__main__":
    main()

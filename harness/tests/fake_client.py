# SPDX-License-Identifier: Apache-2.0
"""The program behind FakeLoadGenerator: real requests from the standard library alone.

Usage: python fake_client.py FOLDER. Reads order.json and answers.json there, writes samples.csv.
"""

import http.client
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
ORDER = json.loads((FOLDER / "order.json").read_text(encoding="utf-8"))
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
PROFILE, REQUESTS = ORDER["profile"], ORDER["requests"]
RANDOM = random.Random(ORDER["seed"])
LOCK = threading.Lock()
OUT = (FOLDER / "samples.csv").open("w", encoding="utf-8", buffering=1)


def connect() -> http.client.HTTPConnection:
    """One kept-alive connection."""
    return http.client.HTTPConnection(ORDER["endpoint"]["host"], ORDER["endpoint"]["port"], timeout=30)


def ask(connection: http.client.HTTPConnection) -> None:
    """One request, checked and written down."""
    request = RANDOM.choices(REQUESTS, weights=[one["weight"] for one in REQUESTS])[0]
    start_epoch_s, start = time.time(), time.perf_counter()
    error = wrong(connection, request)
    latency_ms = (time.perf_counter() - start) * 1000
    with LOCK:
        OUT.write(
            f"{start_epoch_s:.6f},{latency_ms:.4f},{str(not error).lower()},{request['name']},{error}\n"
        )


def wrong(connection: http.client.HTTPConnection, request: dict[str, Any]) -> str:
    """What is wrong with the answer; empty when nothing is."""
    try:
        body = None if request["body"] is None else request["body"].encode()
        connection.request(request["method"], request["path"], body=body, headers=request["headers"])
        response = connection.getresponse()
        answer = response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as problem:
        connection.close()
        return type(problem).__name__
    if response.status != request["expect"]["status"]:
        return f"status {response.status}"
    right = ANSWERS[request["name"]]
    return "" if right is None or answer in right else "wrong body"


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

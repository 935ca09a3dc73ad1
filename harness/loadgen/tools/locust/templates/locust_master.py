# SPDX-License-Identifier: Apache-2.0
"""What a Locust master runs. Reads order.json beside it; writes totals.json there: what its workers reported.

It gives out users and asks nothing itself. The load is over after its duration, or when the workers have told
that all users are done; then workers are sent home, and their last reports are waited for.

Runs inside Locust's own process, where nothing of the harness is imported.
"""

import json
import time
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]  # gevent ships no types
from locust import User, events, runners, task

FOLDER = Path(__file__).resolve().parent
PROFILE = json.loads((FOLDER / "order.json").read_text(encoding="utf-8"))["profile"]
#: A user may take ten seconds to finish its request; a worker that is not home soon after never will be.
HOME_WITHIN_S = 20.0

# A worker that is silent for some seconds would have its users taken away and given to others, who begin
# anew: more requests than were asked for. Whether a worker lives is seen from outside, and one that does
# not fails the trial; so the master itself never counts one as lost.
runners.HEARTBEAT_LIVENESS = 24 * 3600


class Asker(User):
    """By this name the master gives out users; what they do is in the workers' script."""

    @task
    def ask(self) -> None:
        """Never called: a master has no users of its own."""
        # Locust wants the class and its task; a master that ran it would be one generator more than was counted.
        raise NotImplementedError("a master asks nothing")


class End:
    """When the load is over, and the way there."""

    def __init__(self) -> None:
        self.finished: dict[str, int] = {}
        self.begun = False

    def hear(self, environment: Any, msg: Any, **_: Any) -> None:
        """A worker's word on how many of its users are done."""
        self.finished[msg.node_id] = msg.data
        if sum(self.finished.values()) >= PROFILE["users"]:
            gevent.spawn(self.come, environment.runner)

    def come(self, runner: Any) -> None:
        """Send the workers home. Each reports once more before it leaves, and with the last one Locust ends."""
        if self.begun:
            return
        self.begun = True
        runner.stop(send_stop_to_client=False)
        runner.send_message("quit")
        until = time.monotonic() + HOME_WITHIN_S
        while len(runner.clients) and time.monotonic() < until:
            gevent.sleep(0.05)
        if len(runner.clients):
            runner.quit()


END = End()


def listen(environment: Any, **_: Any) -> None:
    """Hear of users that are done."""
    environment.runner.register_message("finished", END.hear)


def end_in_time(environment: Any, **_: Any) -> None:
    """The end by duration: parts of seconds count, which --run-time does not know."""
    if PROFILE["duration_s"] is not None:
        gevent.spawn_later(PROFILE["duration_s"], END.come, environment.runner)


def write_totals(environment: Any, **_: Any) -> None:
    """What Locust itself prints, exactly."""
    total = environment.stats.total
    totals = {
        "n_requests": total.num_requests,
        "n_errors": total.num_failures,
        "finished_users": sum(END.finished.values()),
        "ended_epoch_s": time.time(),
    }
    (FOLDER / "totals.json").write_text(json.dumps(totals) + "\n", encoding="utf-8")


events.init.add_listener(listen)  # type: ignore[no-untyped-call]  # untyped in Locust
events.test_start.add_listener(end_in_time)  # type: ignore[no-untyped-call]  # untyped in Locust
events.quitting.add_listener(write_totals)  # type: ignore[no-untyped-call]  # untyped in Locust

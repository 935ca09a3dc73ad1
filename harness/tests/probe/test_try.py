# SPDX-License-Identifier: Apache-2.0
"""``rematch try`` on services that really run: fit or not, with the load tools of this machine and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import harness.project
from harness.cli import app
from harness.errors import InputError, RematchError
from harness.model import OpenLoad
from harness.places.probe.target import PERMISSION, ask, header_named, target_of
from harness.places.probe.trying import OWN, SAME_MACHINE, Generators, Point, _answers, _kept_rate, try_target
from harness.project import find_root
from harness.tests.support.answering_server import Handler, Server, serving
from harness.tests.support.command import run_here


class _Handler(Handler):
    n_asked = 0

    def respond(self) -> None:
        type(self).n_asked += 1
        status = 500 if self.path == "/changing" and type(self).n_asked % 2 else 200
        self.send_response_only(302 if self.path == "/elsewhere" else status)
        self.send_header("Content-Length", "5")
        if self.path == "/closing":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"hello")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Server(_Handler)) as server:
        yield server.endpoint.url


def test_a_fit_service_and_what_is_wrong_with_another(url: str) -> None:
    fit = ask(target_of(f"{url}/hello?a=b"))
    assert fit.faults == () and fit.statuses == {200: 20}
    assert fit.keeps_alive and fit.n_connections == 1 and fit.same_body and fit.body_bytes == 5
    assert "the status changes" in ask(target_of(f"{url}/changing")).faults[0]
    assert "status 302" in ask(target_of(f"{url}/elsewhere")).faults[0]
    closing = ask(target_of(f"{url}/closing"))
    assert closing.faults == () and "closes its connections" in closing.warnings[0]
    code, out, _ = run_here(find_root(), "try", f"{url}/changing")
    assert code == 1 and "No load was offered: the status changes" in " ".join(out.split())
    assert out.index("cannot tell") < out.index("No load")


def test_no_project_is_needed_to_try(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # installed, and no clone above or beside it
    monkeypatch.setattr(harness.project, "MARKERS", ("no-such-file",))
    monkeypatch.delenv("REMATCH_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no Rematch project"):
        find_root()
    shown = CliRunner().invoke(app, ["try", f"{url}/changing"])
    assert shown.exit_code == 1 and "No load was offered" in shown.output


def test_the_whole_minute_in_short(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.places.probe.trying.USERS", (1, 2))
    monkeypatch.setattr("harness.places.probe.trying.SHARES", (0.5,))
    monkeypatch.setattr("harness.places.probe.trying.LOAD_TOOLS", ())
    asked: list[str] = []
    tried = try_target(target_of(f"{url}/hello"), find_root(), seconds=6, progress=asked.append)
    assert SAME_MACHINE in tried.cannot_tell and tried.fitness.faults == () and tried.answers_after
    assert [point.users for point in tried.closed] == [1, 2] and len(tried.open_loop) == 1
    for load in (*tried.closed, *tried.open_loop):
        assert load.tool == OWN and load.error_share == 0 and load.answered_per_s > 1
        assert load.p50_s is not None and load.p99_s is not None and 0 < load.p50_s <= load.p99_s
    calm = Generators(target_of(f"{url}/hello"), find_root(), 200).offer(
        OpenLoad(rate_per_s=20.0, duration_s=1.0, arrivals="constant")
    )
    assert (calm.offered_per_s, calm.error_share) == (20, 0) and 10 < calm.answered_per_s < 25
    assert tried.most_per_s == max(point.answered_per_s for point in tried.closed)
    kept = _kept_rate(list(tried.open_loop), tried.most_per_s or 0.0)
    assert (tried.kept_up_to_per_s, tried.kept_why) == kept
    assert any("open loop" in text for text in asked)
    assert json.loads(tried.model_dump_json())["url"].endswith("/hello")


def point(offered: float, answered: float, *, bound: bool = False) -> Point:
    return Point(
        offered_per_s=offered, answered_per_s=answered, error_share=0.0, p50_s=0.001, p99_s=0.002, tool="k6",
        generator_cores=1.0, generator_bound=bound,
    )  # fmt: skip


def test_a_rate_that_the_load_generator_could_not_offer_is_not_told_of_the_service() -> None:
    assert _kept_rate([point(100, 100), point(200, 150)]) == (100, None)
    kept, why = _kept_rate([point(100, 100), point(200, 150, bound=True)])
    assert kept == 100 and "k6 was at its own limit at 200/s" in (why or "")
    kept, why = _kept_rate([point(100, 100), point(200, 150)], most_per_s=1000)
    assert kept == 100 and why is not None and "or this machine was at its limit at 200/s" in why
    kept, why = _kept_rate([point(7000, 5000, bound=True)])
    assert kept is None and why is not None


def test_a_service_that_died_between_loads_is_no_fault_of_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Server(_Handler)) as server:
        target = target_of(f"{server.endpoint.url}/hello")
        fitness = ask(target)
        assert _answers(target)
    assert not _answers(target)

    def fails(*_words: object) -> None:
        raise RematchError("wrk ended before it wrote its totals")

    monkeypatch.setattr("harness.places.probe.trying._load", fails)
    monkeypatch.setattr("harness.places.probe.trying.ask", lambda _target: fitness)
    with pytest.raises(RematchError, match="wrk ended"):  # the service answers: the tool failed
        try_target(target, find_root(), seconds=20)
    monkeypatch.setattr("harness.places.probe.trying._answers", lambda _target: False)
    found = try_target(target, find_root(), seconds=20)
    assert not found.answers_after and found.most_per_s == 0 and found.warnings == fitness.warnings


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("http://192.0.2.7/hello", PERMISSION),
        ("https://127.0.0.1/", "no https"),
        ("ftp://127.0.0.1/", "http://"),
        ("http://127.0.0.1:99999/", "is no URL"),
        ("127.0.0.1:8080", "http://"),
    ],
)
def test_other_hosts_and_schemes_are_refused_before_anything_is_sent(wrong: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        target_of(wrong)


def test_a_host_with_permission_and_a_service_that_is_not_there() -> None:
    target = target_of("http://[::1]:3000/hello")
    assert target.endpoint.url == "http://[::1]:3000" and target.is_here
    assert b"Host: [::1]:3000\r\n" in target.request
    assert not target_of("http://192.0.2.7/hello", permitted=True).is_here
    code, out, err = run_here(find_root(), "try", "http://127.0.0.1:9/hello")
    assert code == 2 and "cannot tell" in out and "gives no answer to request 1" in err


def test_headers() -> None:
    assert header_named("X-A: b: c") == ("X-A", "b: c")
    for wrong in ("no colon", "bad name: x", "A: b\r\nC: d"):
        with pytest.raises(InputError):
            header_named(wrong)

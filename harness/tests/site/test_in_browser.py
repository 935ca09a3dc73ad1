# SPDX-License-Identifier: Apache-2.0
"""The results page in a real browser that has no network."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.site import Built
from harness.site.page import TRIALS
from harness.tests.support.browser import Browser, a_browser

PHONE_PX, DESKTOP_PX = 360, 1280


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with a_browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def test_it_works_as_a_file_without_a_network_and_asks_for_nothing(browser: Browser, built: Built) -> None:
    browser.open(built.page)
    assert browser.foreign_requests == [] and browser.problems == []
    assert browser.evaluate("document.querySelectorAll('[data-key] svg').length") == built.n_figures
    assert browser.evaluate("fetch('http://127.0.0.1:1/').then(() => 'loaded', () => 'refused')") == "refused"
    browser.requests.clear()
    browser.problems.clear()


def _set(browser: Browser, name: str, value: str) -> None:
    one = f"document.getElementById('{name}')"
    browser.evaluate(f"{one}.value = '{value}'; {one}.dispatchEvent(new Event('input'))")


def test_filters_leave_the_claims_that_were_asked_for(browser: Browser, built: Built) -> None:
    browser.open(built.page)
    _set(browser, "claim-source", "nelson2020")
    shown = browser.evaluate(
        "Array.from(document.querySelectorAll('tr[data-kind]')).filter(one => !one.hidden).map(one => one.dataset.source)"
    )
    assert shown and set(shown) == {"nelson2020"}
    assert browser.evaluate("document.getElementById('claim-count').textContent").startswith(
        f"{len(shown)} of "
    )


def test_a_figure_tells_its_values_to_pointer_and_keys(browser: Browser, built: Built) -> None:
    browser.open(built.page)
    place = browser.evaluate("""(() => {
      const canvas = document.querySelector('[data-key="startup.forest"] .canvas'); canvas.scrollIntoView({block: 'center'});
      const marks = JSON.parse(document.getElementById('page-data').textContent).marks['startup.forest'];
      const svg = canvas.querySelector('svg'), series = marks.series[1], axes = marks.axes[series.axes];
      const share = (Math.log10(series.x[0]) - Math.log10(axes.x.limits[0])) / (Math.log10(axes.x.limits[1]) - Math.log10(axes.x.limits[0]));
      const rise = (series.y[0] - axes.y.limits[0]) / (axes.y.limits[1] - axes.y.limits[0]);
      const spot = new DOMPoint(axes.box[0] + share * axes.box[2], axes.box[1] + (1 - rise) * axes.box[3]).matrixTransform(svg.getScreenCTM());
      return {x: spot.x, y: spot.y, text: series.name + ': ' + series.notes[0]};
    })()""")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=place["x"], y=place["y"])
    assert browser.evaluate("document.getElementById('tip').hidden") is False
    assert browser.evaluate("document.getElementById('tip').textContent") == place["text"]
    browser.evaluate("document.querySelector('[data-key=\"startup.forest\"] .canvas').focus()")
    said = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key=key)
        said.append(browser.evaluate("document.getElementById('tip').textContent"))
    assert said[0] == said[2] != said[1] and all("%" in one or "to" in one for one in said)


def test_one_series_alone_dims_the_rest(browser: Browser, built: Built) -> None:
    browser.open(built.page)
    figure = "document.querySelector('[data-key=\"startup.forest\"]')"
    browser.evaluate(f"{figure}.querySelector('.chips button').click()")
    assert browser.evaluate(f"{figure}.querySelector('.canvas').classList.contains('dimmed')")
    # every sign keeps its shape
    shapes = f"Array.from({figure}.querySelectorAll('.overlay use')).map(one => one.getAttribute('href'))"
    drawn = f"Array.from({figure}.querySelectorAll('svg > :not(.overlay) use')).map(one => one.getAttribute('href'))"
    assert browser.evaluate(shapes) and set(browser.evaluate(shapes)) <= set(browser.evaluate(drawn))
    assert browser.evaluate(f"{figure}.querySelectorAll('.overlay .dot').length") == 0
    assert browser.evaluate(f"{figure}.querySelector('.chips button').getAttribute('aria-pressed')") == "true"


def test_a_number_leads_to_its_trials_and_a_link_of_the_menu_to_a_heading_at_the_top(
    browser: Browser, built: Built
) -> None:
    browser.open(built.page)
    browser.evaluate("document.querySelector('nav a[href=\"#questions\"]').click()")
    place = "document.getElementById('questions').getBoundingClientRect().top"
    assert _until(browser, f"Math.abs({place}) < 120")
    browser.evaluate("document.querySelector('a.n').click()")
    assert _until(
        browser,
        f"location.pathname.endsWith('/{TRIALS}') && !!document.querySelector('li:target') "
        "&& document.querySelector('li:target').checkVisibility()",
    )


def _until(browser: Browser, holds: str) -> bool:
    for _ in range(50):
        if browser.evaluate(holds):
            return True
        time.sleep(0.1)
    return False


def test_without_scripts_all_content_is_there_and_no_control(browser: Browser, built: Built) -> None:
    browser.open(built.page)
    text = "Array.from(document.querySelectorAll('main section')).map(one => one.textContent.length > 20)"
    assert all(browser.evaluate(text))
    with_scripts = browser.evaluate("document.querySelectorAll('main table tr').length")
    browser.open(built.page, scripts=False)
    root = browser.ask("DOM.getDocument")["root"]["nodeId"]

    def count(what: str) -> int:
        return len(browser.ask("DOM.querySelectorAll", nodeId=root, selector=what)["nodeIds"])

    assert count("main table tr") == with_scripts and count("figure svg[role=img]") == built.n_figures
    assert count(".controls[hidden]") == count(".controls") == 1
    assert count(".chips") == 0 and count(".canvas[tabindex]") == 0


@pytest.mark.parametrize("width", [PHONE_PX, DESKTOP_PX])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_runs_out_of_the_window(browser: Browser, built: Built, width: int, dark: bool) -> None:
    browser.open(built.page, width=width, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 3 * 60) is dark


def test_it_prints_its_answer_and_no_controls(browser: Browser, built: Built, tmp_path: Path) -> None:
    browser.open(built.page)
    printed = browser.pdf(tmp_path / "page.pdf").read_bytes()
    assert printed.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 40
    browser.open(built.page, media="print")
    hidden = (
        "Array.from(document.querySelectorAll('nav, .controls, .chips')).every(one => !one.checkVisibility())"
    )
    assert browser.evaluate(hidden)

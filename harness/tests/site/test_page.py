# SPDX-License-Identifier: Apache-2.0
"""Rules for the results page as text: one file that loads nothing, whole without scripts, fit for every reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.publish.generated import read_values
from harness.questions import claims
from harness.site import Built, build_site
from harness.site.page import NUMBERS, TRIALS
from harness.tests.site.page_structure import Page, faults
from harness.tests.support.published_project import FINDING, HOSTILE, NOTEBOOK

#: WCAG 2.2, success criterion 1.4.3, for text of usual size.
LEAST_CONTRAST = 4.5
#: Text colours of the style, and what they are written on.
PAIRS = [
    (text, ground)
    for text in ("ink", "dim", "link", "warn", "bad", "good")
    for ground in ("paper", "tile", "stripe", "phase")
]


@pytest.fixture(scope="module")
def page(built: Built) -> Page:
    return Page(built.page.read_text("utf-8"))


def test_a_reader_of_any_kind_finds_no_fault_in_the_structure(built: Built) -> None:
    for name in (built.page.name, NUMBERS, TRIALS):
        text = (built.page.parent / name).read_text("utf-8")
        assert faults(Page(text)) == [], name
        for beside, _, place in re.findall(r'href="([\w.-]+)(#([\w.-]+))?"', text):
            target = built.page.parent / beside
            assert target.is_file() and (not place or f'id="{place}"' in target.read_text("utf-8")), beside


def test_the_policy_of_a_notebooks_page_lets_nothing_run_and_nothing_load(built: Built) -> None:
    text = (built.page.parent / "notebooks" / f"{NOTEBOOK}.html").read_text("utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'content="{policy}"' in text.partition("<body")[0]
    assert "a&lt;b" in text and "printed &lt;b&gt;as it is" in text and "anchor-link" not in text


def test_labels_are_shown_as_they_are_and_never_become_part_of_the_page(built: Built, page: Page) -> None:
    beside = Page((built.page.parent / NUMBERS).read_text("utf-8"))
    text = built.page.read_text("utf-8")
    assert HOSTILE not in text and "alert(1)</" not in text.replace("&lt;", "<" * 0)
    every = [one for part in (page, beside) for one in part.named("td", "th", "figcaption", "summary")]
    shown = [said for _, _, said in every if "alert(1)" in said]
    assert not beside.named("script") and len(shown) >= 4 and all(HOSTILE in said for said in shown)
    scripts = [attributes for _, attributes, _ in page.named("script")]
    assert scripts == [{"type": "application/json", "id": "page-data"}, {}]


def test_the_policy_of_the_page_lets_its_own_script_run_and_nothing_load(page: Page) -> None:
    policy = next(
        a["content"] for _, a, _ in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy and "unsafe-eval" not in policy


def test_every_number_leads_to_its_trials(built: Built, published_root: Path) -> None:
    numbers, trials = ((built.page.parent / name).read_text("utf-8") for name in (NUMBERS, TRIALS))
    lists = dict(re.findall(r'<li id="(t\d+)">(.*?)</li>', trials, re.DOTALL))
    sessions = dict(re.findall(r'<h2 id="(s\d+)">(.*?)</h2>', trials))
    values = read_values(published_root)
    checked = 0
    for key, entry in values.items():
        if entry["inputs"]:
            line = re.search(
                rf'<th scope="row">{re.escape(key)}</th><td><a class="n" href="{TRIALS}#(t\d+)">', numbers
            )
            assert line, key
            led = re.findall(r'<a href="#(s\d+)">([^<]*)</a>: ([\d ]+)', lists[line[1]])
            assert all(sessions[place] == session for place, session, _ in led)
            found = {f"{session}/{number}" for _, session, said in led for number in said.split()}
            assert found == {_numbered(one) for one in entry["inputs"]}, key
            checked += 1
    assert checked > 2
    parts = re.findall(r'<h2 id="s\d+">([^<]*)</h2>(.*?)(?=<h2 )', trials, re.DOTALL)
    rows = {
        f"{name}/{trial}"
        for name, part in parts
        for trial in re.findall(r'<th scope="row">([^<]*)</th>', part)
    }
    assert {trial for entry in values.values() for trial in entry["inputs"]} <= rows
    cells = re.search(
        r'<table id="table-startup.table">.*?</table>', built.page.read_text("utf-8"), re.DOTALL
    )
    assert cells and cells[0].count('<a class="n"') == cells[0].count('<th scope="row">') > 2


def _numbered(key: str) -> str:
    """``bundled/a/b/0001-go`` without its variant."""
    session, _, trial = key.rpartition("/")
    return f"{session}/{trial.partition('-')[0]}"


def test_the_claims_and_their_verdicts_are_those_of_the_ledger(page: Page, published_root: Path) -> None:
    sessions = claims.newest_sessions(published_root, claims.experiments(published_root), bundled_only=True)
    judged = claims.judge_all(sessions, root=published_root)
    rows = [(a["data-kind"], a["data-source"]) for _, a, _ in page.named("tr") if "data-kind" in a]
    assert rows == [(one.verdict.value, one.claim.source) for one in judged]


def test_the_same_results_give_the_same_page(built: Built, published_root: Path, tmp_path: Path) -> None:
    again = build_site(published_root, tmp_path / "site")
    assert again.page.read_bytes() == built.page.read_bytes()
    assert (again.n_figures, again.n_notebooks) == (2, 1)


def test_the_first_screen_has_answer_and_figure_and_a_section_its_tables_in_the_notebooks_order(
    built: Built,
) -> None:
    text = built.page.read_text("utf-8")
    first = text.partition('class="first"')[2].partition("</section>")[0]
    assert first.index(FINDING) < first.index('id="figure-startup.forest"')
    section = text.partition('id="q-31-startup"')[2].partition("</article>")[0]
    assert section.index(FINDING) < section.index('id="figure-startup.order"')
    assert re.findall(r'<table id="table-([^"]+)"', section) == ["startup.table", "startup.sizes"]


def test_a_page_of_nothing_is_refused_with_the_command_to_type(tmp_path: Path) -> None:
    (tmp_path / "paper" / "generated").mkdir(parents=True)
    with pytest.raises(InputError, match="nothing has been published.*make site"):
        build_site(tmp_path, tmp_path / "site")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(built: Built, dark: bool) -> None:
    colours = _colours(built.page.read_text("utf-8"), dark=dark)
    for text, ground in PAIRS:
        assert _contrast(colours[text], colours[ground]) >= LEAST_CONTRAST, (text, ground)


def _colours(page: str, *, dark: bool) -> dict[str, str]:
    style = page.partition("<style>")[2].partition("</style>")[0].partition("@media print")[0]
    inside = re.findall(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", page, re.DOTALL)
    outside = re.findall(r"^:root \{(.*?)\}", page, re.DOTALL | re.MULTILINE)
    assert style and inside and outside
    blocks = [*outside, *(inside if dark else [])]
    return {name: value for block in blocks for name, value in re.findall(r"--(\w+): (#[0-9a-f]+)", block)}


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(sign * 2 for sign in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

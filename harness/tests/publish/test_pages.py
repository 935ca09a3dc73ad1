# SPDX-License-Identifier: Apache-2.0
"""Which numbers a page of the paper prints is read from what LaTeX wrote; without a paper the error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.publish.build import AUX, keys_on

WRITTEN = r"""\relax
\@writefile{toc}{\contentsline {section}{\numberline {I}Introduction}{1}{section.1}\protected@file@percent }
\rematch@cited{strings.ratio.java_helidon}{1}
\rematch@cited{strings.ratio.go_kit}{1}
\rematch@cited{strings.ratio.java_helidon}{1}
\newlabel{sec:warm}{{V}{3}{Warm}{section.5}{}}
\rematch@cited{startup.first.go_nethttp}{2}
\rematch@cited{strings.ratio.java_helidon}{5}
"""


def built(root: Path, text: str = WRITTEN) -> Path:
    (root / AUX).parent.mkdir(parents=True)
    (root / AUX).write_text(text, "utf-8")
    return root


def test_a_page_has_its_keys_in_the_order_of_the_text_each_once(tmp_path: Path) -> None:
    root = built(tmp_path)
    assert {page: keys_on(root, page) for page in (1, 2, 5)} == {
        1: ["strings.ratio.java_helidon", "strings.ratio.go_kit"],
        2: ["startup.first.go_nethttp"],
        5: ["strings.ratio.java_helidon"],
    }


def test_a_page_without_numbers_is_refused_with_those_that_have_some(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"main\.aux: .*no numbers; found 4; allowed: .*: 1 to 2, 5"):
        keys_on(built(tmp_path), 4)


def test_without_a_paper_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no paper was built here; allowed: make paper first"):
        keys_on(tmp_path, 1)
    with pytest.raises(InputError, match="make paper first"):
        keys_on(built(tmp_path, r"\relax"), 1)

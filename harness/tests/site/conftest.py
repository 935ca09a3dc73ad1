# SPDX-License-Identifier: Apache-2.0
"""One project with published results, and its page, for all tests of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.site import Built, build_site
from harness.tests.support.published_project import make_published_project


@pytest.fixture(scope="session")
def published_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_published_project(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def built(published_root: Path) -> Built:
    return build_site(published_root, published_root / "results" / "site")

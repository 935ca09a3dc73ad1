# SPDX-License-Identifier: Apache-2.0
"""The results page: what the notebooks have published, as HTML that loads and runs nothing."""

from harness.pipeline.site.page import build_site

__all__ = ["build_site"]

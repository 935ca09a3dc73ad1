# SPDX-License-Identifier: Apache-2.0
"""The results page: everything that was published, as one HTML file that loads nothing."""

from harness.site.build import Built, build_site

__all__ = ["Built", "build_site"]

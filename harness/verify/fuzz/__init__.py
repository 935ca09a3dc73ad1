# SPDX-License-Identifier: Apache-2.0
"""Changed and hostile files for every reader of the project: none may end in a traceback."""

# SPDX-License-Identifier: Apache-2.0
"""How PostgreSQL keeps a password."""

from __future__ import annotations

import base64

from harness.backing.postgres_server import scram_verifier


def test_a_password_is_kept_as_rfc_7677_has_it() -> None:
    # the example of the RFC: user, "pencil", its salt and iteration count; its client proof follows from these keys
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert scram_verifier("pencil", salt=salt) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )

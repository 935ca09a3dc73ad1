# SPDX-License-Identifier: Apache-2.0
"""Whether a far host's sshd carries connections to its own loopback for us."""

from __future__ import annotations

import paramiko

#: The code of a refusal (RFC 4254, section 5.1: administratively prohibited).
PROHIBITED = 1
ANSWER_WITHIN_S = 10.0


def why_no_forwarding(client: paramiko.SSHClient, address: str, port: int) -> str | None:
    """Return why sshd opens no connections there for us; ``None``: it does, or the connection to it broke.

    At best nothing listens at ``port``: that it was tried in vain is answer enough, and nobody is disturbed.
    """
    transport = client.get_transport()
    try:
        if transport is None:
            return None
        where = (address, port)
        transport.open_channel("direct-tcpip", where, ("127.0.0.1", 0), timeout=ANSWER_WITHIN_S).close()
    except paramiko.ChannelException as problem:
        if problem.code != PROHIBITED:
            return None
        return (
            f"its sshd forwards no ports to {address}, and services that listen there are asked that way: "
            "AllowTcpForwarding yes (or local) and DisableForwarding no in its sshd_config, no restrict before the "
            "key in authorized_keys; or have services listen at service_address and the load come from elsewhere"
        )
    except (paramiko.SSHException, EOFError, OSError):
        return None  # no refusal: the connection is made anew, and whoever goes through it finds out
    return None

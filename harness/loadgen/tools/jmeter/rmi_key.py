# SPDX-License-Identifier: Apache-2.0
"""A key and its certificate for the processes of one JMeter load, and the properties that name them.

Every process has the same key, trusts it alone, and asks whoever calls for it. It lives as long as the load.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

KEY, KEY_PROPERTIES = "rmi.p12", "rmi.properties"
#: By this name JMeter finds the key in its file.
ALIAS = "rmi"
#: Clocks of load hosts may be wrong by this, to either side.
_VALID = timedelta(days=30)


def new_key() -> dict[str, bytes]:
    """Return the key's file, encrypted, and the properties with its password. Both go by their names, so each
    process finds its own copy in its own folder: an engine tells its callers where the key lies.
    """
    # here, because every plan loads this module, and only loads with several generators make keys
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
    from cryptography.x509.oid import NameOID

    password = secrets.token_urlsafe(24)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "one load")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    file = serialize_key_and_certificates(
        ALIAS.encode(), key, certificate, None, BestAvailableEncryption(password.encode())
    )
    told = {"type": "PKCS12", "file": KEY, "password": password, "alias": ALIAS}
    lines = "".join(f"server.rmi.ssl.keystore.{name}={value}\n" for name, value in told.items())
    return {KEY: file, KEY_PROPERTIES: lines.encode()}


__all__ = ["KEY", "KEY_PROPERTIES", "new_key"]

"""AWS Signature Version 4: the headers that prove who sends a request.

Source: AWS, "Create a signed AWS API request" (IAM user guide). Paths are encoded twice, as for all
services but S3.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from snellen.core.secret import Secret
from snellen.settings import first_nonblank, read_secret

_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "bedrock"


class AwsCredentials(NamedTuple):
    """A key pair, and the token of temporary ones."""

    key_id: str
    secret: Secret
    session: Secret | None = None


def read_aws_credentials() -> AwsCredentials | None:
    """The key pair of `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`; None without one."""
    key_id, secret = first_nonblank(("AWS_ACCESS_KEY_ID",)), read_secret(("AWS_SECRET_ACCESS_KEY",))
    if key_id is None or secret is None:
        return None
    return AwsCredentials(key_id, secret, read_secret(("AWS_SESSION_TOKEN",)))


def signature_headers(
    method: str, url: str, body: bytes, region: str, credentials: AwsCredentials, time: datetime | None = None
) -> dict[str, str]:
    """The headers of a signed request, with its type of content, which is JSON."""
    moment = (time or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    parts = urlsplit(url)
    signed = {"content-type": "application/json", "host": parts.netloc, "x-amz-date": moment}
    if credentials.session is not None:
        signed["x-amz-security-token"] = credentials.session.reveal()
    names = ";".join(sorted(signed))
    canonical = [method, quote(parts.path, safe="/-_.~"), parts.query]
    canonical += [f"{name}:{signed[name]}" for name in sorted(signed)]
    canonical += ["", names, hashlib.sha256(body).hexdigest()]
    scope = f"{moment[:8]}/{region}/{_SERVICE}/aws4_request"
    to_sign = "\n".join([_ALGORITHM, moment, scope, _digest("\n".join(canonical))])
    key = f"AWS4{credentials.secret.reveal()}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    proof = f"{_ALGORITHM} Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "authorization": proof}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

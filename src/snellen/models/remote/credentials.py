"""Credentials other than a key in a variable: a key that a program prints, or a signature of each request."""

from __future__ import annotations

import hashlib
import hmac
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from snellen.core.errors import ModelError
from snellen.core.secret import Secret, hide
from snellen.models.remote.profile import AWS_VARIABLES, ProviderProfile
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
    """The headers of a request with AWS Signature Version 4, with its type of content, which is JSON.

    Source: AWS, "Create a signed AWS API request" (IAM user guide). Paths are encoded twice, as for
    all services but S3.
    """
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
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    to_sign = "\n".join([_ALGORITHM, moment, scope, digest])
    key = f"AWS4{credentials.secret.reveal()}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    proof = f"{_ALGORITHM} Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "authorization": proof}


_KEY_SECONDS = 1800
"""How long a printed key is used: those of gcloud hold for an hour."""
_COMMAND_SECONDS = 60
NO_KEY = "gives no key"
"""How error messages say that a program printed no key."""


class Credentials(NamedTuple):
    """What tells a server who sends a request."""

    source: str
    """Where they are, for messages."""
    headers: Callable[[str, str, bytes], Mapping[str, str]]
    """Headers of a request, by method, URL and body. Raises ModelError (`authentication`)."""


def find_credentials(profile: ProviderProfile, region: str = "") -> Credentials | None:
    """The credentials of a provider where no variable has a key; None if there are none on this machine."""
    if profile.sign == "aws":
        key_pair = read_aws_credentials()
        if key_pair is not None:
            return Credentials(AWS_VARIABLES, partial(signature_headers, region=region, credentials=key_pair))
    if profile.key_command and shutil.which(profile.key_command[0]):
        return Credentials(f"what {' '.join(profile.key_command)} prints", PrintedKey(profile.key_command))
    return None


class PrintedKey:
    """A key that a program prints, asked for when it is first needed and again after half an hour."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._key: Secret | None = None
        self._read = 0.0

    def __call__(self, method: str, url: str, body: bytes) -> Mapping[str, str]:
        with self._lock:
            if self._key is None or time.monotonic() - self._read > _KEY_SECONDS:
                self._key, self._read = self._print(), time.monotonic()
            return {"Authorization": f"Bearer {self._key.reveal()}"}

    def _print(self) -> Secret:
        """Raises ModelError (`authentication`) if the program prints no key."""
        words = " ".join(self._command)
        try:
            ended = subprocess.run(self._command, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ModelError(f"{words} {NO_KEY}: {error}", "authentication") from error
        key = Secret(ended.stdout.strip())
        if ended.returncode or not key.reveal() or not key.fits_header():
            last = hide(ended.stderr.strip()).splitlines()[-1:]
            raise ModelError(f"{words} {NO_KEY}: {' '.join(last) or 'it prints none'}", "authentication")
        return key

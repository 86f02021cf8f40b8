"""Credentials other than a key in a variable: a key that a program prints, or a signature of each request."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from snellen.core.errors import ModelError
from snellen.core.secret import Secret, hide
from snellen.models.remote.aws_signature import read_aws_credentials, signature_headers
from snellen.models.remote.profile import AWS_VARIABLES, ProviderProfile

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

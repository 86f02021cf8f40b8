"""Keys and passwords: values that no text, file or message may hold."""

from __future__ import annotations

import hashlib
import re
from typing import NoReturn
from weakref import WeakSet

MASK = "***"
MIN_LENGTH = 8
"""Characters from which a secret is looked for in texts: a shorter one, such as the `EMPTY` that
servers of one's own are given, cannot be told from other words."""
MIN_REPLY_LENGTH = 20
"""Characters from which a secret is like no answer that a model could give."""


class Secret:
    """A value that is read from the environment, and shown to nobody but its server.

    It prints and formats as `***`; JSON, msgspec, copies and pickles refuse it. While it exists,
    `hide` takes it out of texts.
    """

    __slots__ = ("__weakref__", "_form", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._form = re.compile("".join(map(_escaped_forms, value)))
        _LIVE_SECRETS.add(self)

    def __repr__(self) -> str:
        return MASK

    def __format__(self, form: str) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not copied or stored")

    def reveal(self) -> str:
        """The value itself: for the header of a request, and for nothing else."""
        return self._value

    def fits_header(self) -> bool:
        """Whether a header can hold it: printable ASCII alone."""
        return self._value.isascii() and self._value.isprintable()

    def fingerprint(self) -> str:
        """Eight hexadecimal digits of its SHA-256, to tell two secrets apart."""
        return hashlib.sha256(self._value.encode()).hexdigest()[:8]

    def hide_in(self, text: str, min_length: int = MIN_LENGTH) -> str:
        """The text with `***` in place of the secret."""
        return self._form.sub(MASK, text) if len(self._value) >= min_length else text


_LIVE_SECRETS: WeakSet[Secret] = WeakSet()


def hide(text: str, min_length: int = MIN_LENGTH) -> str:
    """The text without the secrets of at least so many characters that this process holds, also
    as a URL (`%2B`) or JSON (`\\u002b`, `\\/`) writes them. To be called before a text is cut: the
    beginning of a secret is not recognised."""
    for secret in list(_LIVE_SECRETS):
        text = secret.hide_in(text, min_length)
    return text


def _escaped_forms(sign: str) -> str:
    """A pattern for one character, plain or escaped in full."""
    url = "".join(f"%{byte:02x}" for byte in sign.encode())
    escaped = f"u{ord(sign):04x}"
    plain = re.escape(sign)
    slashed = rf"|\\+{plain}" if sign in "/\"'\\" else ""
    return rf"(?:{plain}|(?i:{url})|\\+(?i:{escaped}){slashed})"

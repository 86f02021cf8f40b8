"""Keys and passwords, which no text, file or message may contain."""

from __future__ import annotations

import re
import sys
from weakref import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar, NoReturn

MASK = "***"
MIN_LENGTH = 8
"""Shortest secret, in characters, that is searched for in texts: shorter ones, such as the `EMPTY`
that local servers accept, also occur as ordinary words."""
MIN_REPLY_LENGTH = 20
"""Shortest secret, in characters, that is searched for in replies: no answer looks like it."""
_INVISIBLE = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
"""Characters that are not seen, as a character class: soft hyphen, zero-width, directions."""
_BETWEEN = rf"(?:[\s{_INVISIBLE}]|\\+[nrt])*+"
"""What may stand between the characters of a secret that is broken or spaced."""
_INVISIBLES = re.compile(f"[{_INVISIBLE}]+")
_JSON_UNICODE = re.compile(r"\\+u([0-9a-fA-F]{4})")


class Secret:
    """A value from the environment that only its server may see.

    It prints and formats as `***`; JSON, msgspec, copies and pickles refuse it. While it exists,
    `hide` removes it from texts.
    """

    __slots__ = ("__weakref__", "_folded", "_form", "_value")
    shortest_form: ClassVar[int] = sys.maxsize
    """Characters of the shortest form of a secret that is searched for: shorter texts hold none."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._folded = tuple({_fold(form) for form in (value, *_encodings(value))})
        if len(value) >= MIN_LENGTH:
            Secret.shortest_form = min(Secret.shortest_form, *map(len, self._folded))
        self._form: re.Pattern[str] | None = None
        _LIVE_SECRETS.add(self)

    def __repr__(self) -> str:
        return MASK

    def __format__(self, form: str) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not copied or stored")

    def reveal(self) -> str:
        """The value, for the header of a request and nothing else."""
        return self._value

    def fits_header(self) -> bool:
        """Whether it is printable ASCII, as HTTP headers require."""
        return self._value.isascii() and self._value.isprintable()

    def fingerprint(self) -> str:
        """Eight hexadecimal digits of its SHA-256, to distinguish secrets."""
        import hashlib

        return hashlib.sha256(self._value.encode()).hexdigest()[:8]

    def hide_in(self, text: str, folded: str, min_length: int) -> str:
        """Replace the secret in a text by `***`; `folded` is the text as `_fold` returns it."""
        if len(self._value) < min_length or not any(form in folded for form in self._folded):
            return text
        if self._form is None:
            self._form = re.compile("|".join(_patterns(self._value)))
        hidden = self._form.sub(MASK, text)
        # Escaped in several ways at once: it is there, but not where it begins or ends.
        remains = any(form in _fold(hidden) for form in self._folded)
        return MASK if remains else hidden


_LIVE_SECRETS: WeakSet[Secret] = WeakSet()


def hide(text: str, min_length: int = MIN_LENGTH) -> str:
    """Replace the secrets of this process, of `min_length` characters or more, by `***`.

    Also finds them in the other case, broken by spaces, lines or characters that are not seen,
    escaped as in URLs (`%2B`), JSON (`\\u002b`, `\\/`) and HTML (`&#43;`), in hexadecimal digits
    and in base64 at any offset. Call it before a text is truncated: a part of a secret is not
    recognised.
    """
    # A text in lower case is at most twice as long.
    if 2 * len(text) < Secret.shortest_form or not _LIVE_SECRETS:
        return text
    folded = _fold(text)
    for secret in list(_LIVE_SECRETS):
        text = secret.hide_in(text, folded, min_length)
    return text


def _fold(text: str) -> str:
    """The text in lower case and without spaces, followed by the same of its unescaped form if it
    has escapes: whether a secret is in a text is a search for its folded form in this one."""
    folded = "".join(text.split()).lower()
    plain = _unescape(text)
    if plain is not text:
        folded += "\0" + "".join(plain.split()).lower()
    return folded if folded.isascii() else _INVISIBLES.sub("", folded)


def _unescape(text: str) -> str:
    """Without the escapes of JSON, URLs and HTML; what is none of them (formulas) may suffer."""
    if "\\" in text:
        if "\\u" in text:
            text = _JSON_UNICODE.sub(lambda found: chr(int(found[1], 16)), text)
        for end in ("n", "r", "t", ""):
            text = text.replace("\\" + end, "")
    if "%" in text:
        from urllib.parse import unquote

        text = unquote(text)
    if "&" in text:
        import html

        text = html.unescape(text)
    return text


def _encodings(value: str) -> Iterator[str]:
    """Hexadecimal digits, and the characters of base64 that depend on the secret alone, for each
    offset at which it may stand in what is encoded."""
    import base64

    data = value.encode("utf-8", "surrogatepass")
    yield data.hex()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + data).decode()
        inner = encoded[-(-8 * offset // 6) : 8 * (offset + len(data)) // 6]
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))


def _patterns(value: str) -> Iterator[str]:
    yield _BETWEEN.join(map(_escaped_forms, value))
    for encoded in _encodings(value):
        yield "(?i:" + _BETWEEN.join(map(re.escape, encoded)) + ")[A-Za-z0-9+/_=-]{0,4}"


def _escaped_forms(sign: str) -> str:
    """Pattern for one character, plain or escaped."""
    from html.entities import html5

    url = "".join(f"%{byte:02x}" for byte in sign.encode("utf-8", "surrogatepass"))
    names = "".join(f"|&{name}" for name, meant in html5.items() if meant == sign)
    number = f"&#(?:0*{ord(sign)}|x0*{ord(sign):x});?"
    plain = "|".join(sorted({re.escape(each) for each in (sign, sign.lower(), sign.upper())}))
    # Atomic, as `_BETWEEN` is: one way to match is enough, and trying others takes its time.
    return rf"(?>(?i:{url}|\\+u{ord(sign):04x}|{number}){names}|\\*(?:{plain}))"

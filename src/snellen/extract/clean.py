"""Blank out markup and normalise signs, keeping every character at its offset.

All changes keep the length, so a span in the cleaned text is valid in the raw reply.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from msgspec import Struct

from snellen.core import lazy_re as re

P = ParamSpec("P")
T = TypeVar("T")
_SHORT_REPLY, _SHORT_REPLIES = 200, 2048
"""Characters, and number, of the short texts whose reading is kept."""

_FOLD_TABLE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_FOLD_TABLE |= {
    ord(sign): plain
    for signs, plain in (
        ("。｡", "."),
        ("“”„«»『』", '"'),
        ("‘’‚′", "'"),
        ("【〔「", "["),
        ("】〕」", "]"),
        ("\u00a0\u3000\u2002\u2003\u2009\u200b\u200e\u200f\ufeff\t\r", " "),
        ("−‐‑", "-"),
        ("İ", "I"),
    )
    for sign in signs
}

_MARKUP = re.compile(
    r"</?(?:s|b|i|u|p|br|strong|em|center|pad|unk|eo[sahm]|bos|end|answer|think)\s*/?>"
    r"|<\|[^|<>\n]{1,30}\|>|<(?:end_of_turn|end_of_utterance|start_of_turn|eot_id)>"
    r"|\[/?INST\]|<</?SYS>>|\*+|`+|_{2,}|^#+(?= )|(?<=\n)#+(?= )|\\[()\[\]]"
    r"|\\(?:text|mathrm|mathbf|textbf|textit|mathbb|mbox|boxed|fbox|rm|bf)\b|[{}~]",
    re.IGNORECASE,
)
_MARKUP_SIGN = re.compile(r"[<*`_\\{}~#]")
_MARKUP_NAMES = ("[INST", "[/INST")
"""Markup has one of these signs or names. A single set of signs is searched for at once, where an
alternative beside it would be tried at every place."""


_THINKING_TAGS = (
    r"think|thinking|thoughts?|thought_process|reason|reasoning|scratchpad|seed:think|analysis"
    r"|reflection|cot"
)
_THINKING_END = re.compile(
    rf"</(?:{_THINKING_TAGS})>|◁/think▷|\[/think\]|<\|end_of_thought\|>|<\|/think(?:ing)?\|>|<unused95>"
    r"|<\|channel\|>\s{0,3}final\s{0,3}<\|message\|>|(?<=[a-z.!?\s\"')])assistantfinal(?=[^a-z])",
    re.IGNORECASE,
)
_THINKING_START = re.compile(
    rf"\s*(?:<(?:{_THINKING_TAGS})>|◁think▷|\[think\]|<\|begin_of_thought\|>|<\|think(?:ing)?\|>"
    r"|<unused94>|<\|channel\|>\s{0,3}analysis\s{0,3}<\|message\|>)",
    re.IGNORECASE,
)
_THINKING_SIGNS = frozenset("<◁[")
_THINKING_HINTS = ("</", "/think", "/THINK", "_of_thought", "<unused95>", "final")


def kept_for_short(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """The function of a text, whose results are kept for short texts: models answer many questions in the
    same words. Its results must not be changed."""
    kept = lru_cache(_SHORT_REPLIES)(function)

    @wraps(function)
    def read(text: str, /, *args: P.args, **options: P.kwargs) -> T:
        return kept(text, *args, **options) if len(text) <= _SHORT_REPLY else function(text, *args, **options)  # type: ignore[arg-type]

    return read


class CleanedReply(Struct, frozen=True, gc=False):
    """A cleaned reply, the same in lower case, and before its markup was blanked out, character by
    character."""

    plain: str
    low: str
    folded: str


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def fold(text: str) -> str:
    """Replace full-width letters, digits and signs by their plain forms; same length."""
    if text.isascii():
        return text.replace("\t", " ").replace("\r", " ")
    return text.translate(_FOLD_TABLE)


def blank_markup(text: str) -> str:
    """Blank out bold, code, LaTeX and special tokens in folded text; same length."""
    if _MARKUP_SIGN.search(text) or contains_any(text, _MARKUP_NAMES):
        return _MARKUP.sub(_blank, text)
    return text


def clean_reply(folded: str) -> CleanedReply:
    """A folded reply without markup. U+0130, whose lower case is longer, was folded away before."""
    plain = blank_markup(folded)
    return CleanedReply(plain, plain.lower(), folded)


def contains_any(text: str, stems: tuple[str, ...]) -> bool:
    """Whether the text contains one of the stems: a cheap test before a regular expression."""
    for stem in stems:  # noqa: SIM110 - a generator costs more than all the looks
        if stem in text:
            return True
    return False


def without_thinking(folded: str) -> str:
    """The reply with its thinking blanked out, unless nothing follows; same length."""
    start = thinking_end(folded)
    return " " * start + folded[start:] if start else folded


def thinking_end(text: str) -> int:
    """Offset of the reply behind its thinking (</think> or similar); 0 if it has none or nothing
    follows."""
    if not contains_any(text, _THINKING_HINTS):
        return 0
    last = None
    for last in _THINKING_END.finditer(text):  # noqa: B007
        pass
    if last is None or not blank_markup(text[last.end() :]).strip():
        return 0
    return last.end()


def is_only_thinking(text: str) -> bool:
    """Whether the reply opens with thinking that never ends."""
    opens = text.lstrip()[:1] in _THINKING_SIGNS
    return opens and _THINKING_START.match(text) is not None and _THINKING_END.search(text) is None

r"""What of a text and of a formula counts when two pages are compared.

Of a text its letters and digits count, as in OmniDocBench (Ouyang et al. 2024,
https://arxiv.org/abs/2412.07626, Sec. 4): white space, punctuation, and the signs of Markdown and
HTML do not. In formulas within a text the name of a Greek letter is that letter. Of a formula all but white
space, fonts, sizes of brackets, numbers of equations and alignment counts.
"""

from __future__ import annotations

import unicodedata

from snellen.core import lazy_re as re

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_COMMAND = re.compile(r"\\([a-zA-Z]+)\*?")
_FONT = re.compile(
    r"math(?:bf|rm|normal|it|bb|cal|scr|frak|sf|tt)|text(?:bf|it|rm|tt|sc)?|emph|boldsymbol|bm|operatorname|mbox"
    r"|[bB]igg?[lr]?|left|right|(?:display|text)style|(?:no)?limits|nonumber|notag|q?quad|underline"
)
"""Commands that change how a formula looks, not what it says."""
_SIGNS = {
    "dfrac": r"\frac",
    "tfrac": r"\frac",
    "leq": r"\le",
    "geq": r"\ge",
    "neq": r"\ne",
    "to": r"\rightarrow",
    "lbrace": r"\{",
    "rbrace": r"\}",
    "cdots": r"\dots",
    "ldots": r"\dots",
}
_NUMBERED = re.compile(r"\\(?:tag|label|hspace|vspace)\*?\s*\{[^{}]*\}")
_ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\s*\{(?:equation|align|aligned|gather|gathered|split|multline|eqnarray)\*?\}"
)
_SPACING = re.compile(r"\\[,;:!>\s]|[\s~]|(?<!\\)&")
_LINE_BREAK = re.compile(r"\\\\(?:\[[^\]]*\])?")
_SINGLE = re.compile(r"([_^])\{(\w)\}")


def counted_text(text: str) -> str:
    """The letters and digits of a text, in Unicode's form NFKC."""
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "\\" in text:
        text = _COMMAND.sub(_letter_of, text)
    text = unicodedata.normalize("NFKC", text)
    return "".join([sign for sign in text if sign.isalnum()])


def counted_formula(formula: str) -> str:
    """A formula without what does not count."""
    text = unicodedata.normalize("NFKC", formula)
    text = _ENVIRONMENT.sub("", _NUMBERED.sub("", text)).strip().strip("$")
    text = _COMMAND.sub(_plain_command, text)
    text = _SPACING.sub("", _LINE_BREAK.sub("", text))
    return _SINGLE.sub(r"\1\2", text).rstrip(".,")


def _plain_command(match: re.Match[str]) -> str:
    name = match[1]
    return "" if _FONT.fullmatch(name) else _SIGNS.get(name, f"\\{name} ")


def _letter_of(match: re.Match[str]) -> str:
    r"""The letter that a command such as \alpha names; of a font nothing; else the command's name."""
    name = match[1]
    if _FONT.fullmatch(name):
        return ""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.removeprefix('var').upper()}")
    except KeyError:
        return name

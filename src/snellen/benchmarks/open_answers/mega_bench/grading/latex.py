"""Terms in LaTeX, parsed by SymPy's grammar, and metrics of texts with terms.

MEGA-Bench (arXiv:2410.10563), megabench/metrics/scoring/latex_expr_equality.py. Its authors parse
with `sympy.parsing.latex.parse_latex` and compare by `equals`, for at most 15 seconds. Here terms
are compared by `scoring.terms`, by a bounded amount of work, and only short ones are parsed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.texts import equal_signs
from snellen.core.errors import MissingExtra
from snellen.scoring.mathematics import EXTRA, is_slow_to_parse
from snellen.scoring.terms import is_same_term

_MAX_LENGTH = 300
"""Characters of a term that is parsed."""
_PURPOSE, _LIBRARY = "parsing terms in LaTeX", "SymPy with ANTLR"
_TERM = re.compile(r"(\$[^$]*\$)")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\{(?:.*?(\})(?:\[[^\[\]]*\])?|.*)")
"""Also the rest of a line without the brace, which is kept: it is looked for once."""
_DELIMITER = re.compile(r"\\[()\[\]]")
_TO_A_BRACE = re.compile(r"([^}]*)(?:\}(_[^{}\\ ]*)?|\Z)")
_BAR = "\\overline{"
_MACRON = "\u0304"
_GREEK_LETTER = re.compile("[α-ωΑ-Ω]")


class LatexError(ValueError):
    """The text is no term, or one that is too long to be parsed."""


def equal_latex(reply: Any, gold: Any) -> float:
    """`latex_expr_equality`: whether two terms are equal; texts that are no terms are held against
    each other by their signs. Raises MissingExtra."""
    if not isinstance(reply, str) or not isinstance(gold, str):
        return 0.0
    reply, gold = normalise(reply), normalise(gold)
    if reply == gold:
        return 1.0
    try:
        return float(is_same_term(parse_latex(gold), parse_latex(reply)))
    except LatexError:
        return equal_signs(reply, gold)


def equal_text_with_latex(reply: Any, gold: Any) -> float:
    """`text_with_latex_expr_equality`: the text by its signs, the terms between dollar signs
    together as one term. Raises MissingExtra."""
    if not isinstance(reply, str) or not isinstance(gold, str):
        return 0.0
    texts, terms = zip(*map(_split, (reply, gold)), strict=True)
    return float(equal_signs(*texts) and equal_latex(*terms))


def _split(text: str) -> tuple[str, str]:
    """The text without its terms, and its terms, both without commas."""
    parts = _TERM.split(text)
    is_term = [part.startswith("$") and part.endswith("$") for part in parts]
    plain = "".join(part.strip() for part, term in zip(parts, is_term, strict=True) if not term)
    terms = [part[1:-1].strip() for part, term in zip(parts, is_term, strict=True) if term]
    return plain.replace(",", ""), " ".join(term.replace(",", "") for term in terms)


def normalise(text: str) -> str:
    """Macrons as \\overline, Greek letters by name, no environments and no delimiters."""
    text = _bars(text.replace("\\bar", "\\overline"))
    text = _TO_A_BRACE.sub(_index_within_bar, text)
    text = _GREEK_LETTER.sub(lambda letter: _greek_name(letter[0]) + " ", text)
    text = _ENVIRONMENT.sub(lambda found: "" if found[1] else found[0], text)
    return _DELIMITER.sub("", text)


def _index_within_bar(part: re.Match[str]) -> str:
    """`\\overline{a}_b` as `\\overline{a_b}`, in a text up to its next brace that closes."""
    if part[2] is None or _BAR not in part[1]:
        return part[0]
    return f"{part[1]}{part[2]}}}"


def _bars(text: str) -> str:
    signs: list[str] = []
    bars: list[int] = []
    for sign in text:
        parts = unicodedata.normalize("NFD", sign) if sign.isalpha() else sign
        if sign == _MACRON and signs:
            bars[-1] += 1
        else:
            has_bar = parts[1:2] == _MACRON
            signs.append("" if sign == _MACRON else parts[0] if has_bar else sign)
            bars.append(int(has_bar or sign == _MACRON))
    return "".join(f"{_BAR * count}{sign}{'}' * count}" for sign, count in zip(signs, bars, strict=True))


def _greek_name(letter: str) -> str:
    name = unicodedata.name(letter).rsplit(" ", 1)[-1].lower()
    name = "lambda" if name == "lamda" else name
    return "\\" + (name.capitalize() if letter.isupper() else name)


def require_parser() -> None:
    """Check that terms can be parsed, without loading what parses them. Raises MissingExtra."""
    if not all(map(find_spec, ("sympy", "antlr4"))):
        raise MissingExtra(_PURPOSE, EXTRA, _LIBRARY)


@lru_cache(maxsize=4096)
def parse_latex(text: str) -> Any:
    """The SymPy term that a text begins with; what follows it is ignored. Raises LatexError, or
    MissingExtra without SymPy."""
    text = text.strip()
    if len(text) > _MAX_LENGTH or is_slow_to_parse(text):
        raise LatexError("too long to be parsed")
    return _parser()(text)


@lru_cache(maxsize=1)
def _parser() -> Any:
    """SymPy's grammar of LaTeX, by the version of ANTLR that Math-Verify brings. SymPy's own
    function accepts none but 4.11, although both read the same grammar."""
    try:
        from antlr4 import CommonTokenStream, InputStream
        from sympy import SympifyError
        from sympy.parsing.latex import _parse_latex_antlr as grammar

        lexer_class, parser_class = grammar.LaTeXLexer, grammar.LaTeXParser
    except (ImportError, AttributeError) as error:
        raise MissingExtra(_PURPOSE, EXTRA, _LIBRARY) from error

    class Lexer(lexer_class):  # type: ignore[misc, valid-type]
        def checkVersion(self, toolVersion: str) -> None:
            pass

    class Parser(parser_class):  # type: ignore[misc, valid-type]
        def checkVersion(self, toolVersion: str) -> None:
            pass

    def parse(text: str) -> Any:
        listener = grammar.MathErrorListener(text)
        lexer = Lexer(InputStream(text))
        parser = Parser(CommonTokenStream(lexer))
        for part in (lexer, parser):
            part.removeErrorListeners()
            part.addErrorListener(listener)
        try:
            return grammar.convert_relation(parser.math().relation())
        except (
            grammar.LaTeXParsingError,
            SympifyError,
            TypeError,
            ValueError,
            AttributeError,
            NotImplementedError,
            RecursionError,
            IndexError,
            KeyError,
        ) as error:
            raise LatexError(str(error)) from error

    return parse

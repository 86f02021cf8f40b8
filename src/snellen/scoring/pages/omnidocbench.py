r"""OmniDocBench's metrics of one page, as in the release that VLMEvalKit holds (version 1.0 of the paper,
Ouyang et al. 2024, https://arxiv.org/abs/2412.07626, Sec. 4): normalised edit distances of text, display
formulas, tables and reading order after the matching `quick_match`, and TEDS of tables.

Restated with its oddities. Gold blocks without letters and digits shift the reading order of those
behind them. A gold block that nothing is left for counts twice. LaTeX tables are never compared. The
authors' limit of 30 s for a page, after which they match plainly, is not restated.

What they compare texts with are the packages pylatexenc, beautifulsoup4 and scipy (extra `documents`).
"""

from __future__ import annotations

import html
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from snellen.core import lazy_re as re
from snellen.core.errors import MissingExtra
from snellen.core.page import Block, Page
from snellen.scoring.pages.matching import Edits, count_edits, sum_edits
from snellen.scoring.pages.page_score import FORMULA, ORDER, TABLE_EDITS, TEDS, TEDS_STRUCTURE, TEXT
from snellen.scoring.pages.quick_match import Match, Written, match_plainly, quick_match
from snellen.scoring.pages.teds import check_tree_packages, table_similarity

COUNTED = ("text_block", "title", "code_txt", "code_txt_caption", "reference", "equation_caption")
LEFT_OUT = (
    *("figure_caption", "figure_footnote", "table_caption", "table_footnote", "code_algorithm"),
    *("code_algorithm_caption", "header", "footer", "page_footnote", "page_number"),
)
_IGNORED = frozenset({*LEFT_OUT, "equation_caption"})
"""Categories that are matched and then left out."""


class ReplyParts(NamedTuple):
    """What a reply holds, each with its place (`extract.published.omnidocbench`)."""

    texts: Sequence[Written]
    formulas: Sequence[Written]
    tables: Sequence[Written]


def check_packages() -> None:
    """Raises MissingExtra without the packages that pages are compared with."""
    check_tree_packages()
    try:
        import bs4
        import pylatexenc
        import scipy
    except ImportError as error:
        name = error.name or "pylatexenc"
        raise MissingExtra("comparing pages as OmniDocBench's authors do", "documents", name) from None
    del bs4, pylatexenc, scipy


def omnidocbench_parts(reply: ReplyParts, gold: Page) -> dict[str, float]:
    """Each part that the gold page has, 0..1, higher is better: 1 - normalised edit distance, and TEDS."""
    check_packages()
    parts: dict[str, Edits] = {}
    texts = sorted_blocks(gold, (*COUNTED, *LEFT_OUT))
    if texts:
        matches = quick_match(_lines(texts, plain_text), texts, _written_lines(reply.texts, plain_text), reply.texts)
        kept = [match for match in matches if _category(match) not in _IGNORED]
        parts[TEXT] = sum_edits((match.gold_text, match.reply_text) for match in kept)
        parts[ORDER] = order_edits([(match.orders, match.place) for match in kept])
    formulas = sorted_blocks(gold, ("equation_isolated",))
    if formulas:
        lines = _written_lines(reply.formulas, plain_formula)
        matches = quick_match(_lines(formulas, plain_formula), formulas, lines, reply.formulas)
        parts[FORMULA] = sum_edits((match.gold_text, match.reply_text) for match in matches if match.golds)
    found = {name: edits.similarity for name, edits in parts.items() if edits.length}
    tables = [block.text for block in sorted_blocks(gold, ("table",)) if block.text]
    return {**found, **table_parts(tables, [one.text for one in reply.tables if one.text])}


def sorted_blocks(gold: Page, categories: Sequence[str]) -> list[Block]:
    """The blocks of these categories, in this order, then by reading order."""
    chosen = [block for name in categories for block in gold.blocks if block.category == name]
    return sorted(chosen, key=lambda block: block.order)


def _lines(blocks: Sequence[Block], plain: Any) -> list[tuple[str, Block]]:
    """The plain texts of the blocks that have one."""
    return [(text, block) for block in blocks if (text := plain(block.source or block.text))]


def _written_lines(parts: Sequence[Written], plain: Any) -> list[str]:
    return [text for part in parts if part.text and (text := plain(part.text))]


def _category(match: Match) -> str:
    """The most frequent category of the gold blocks, of those that count if there are any."""
    names = [block.category for block in match.golds]
    counted = [name for name in names if name not in _IGNORED]
    return Counter(counted or names).most_common(1)[0][0] if names else ""


def order_edits(matches: Sequence[tuple[Sequence[float], int | None]]) -> Edits:
    """Edits of the sequence of gold blocks, of matches with the orders of theirs, 0 for none, and their place in the
    reply; None for those that it lacks."""
    golds = sorted(order for orders, _ in matches for order in orders if order)
    written = sorted(((place, orders) for orders, place in matches if place is not None), key=lambda one: one[0])
    return count_edits(golds, [order for _, orders in written for order in orders if order])


def table_parts(golds: Sequence[str], replies: Sequence[str]) -> dict[str, float]:
    """Tables by edits of their HTML, and by TEDS; nothing where the gold has none."""
    if not golds:
        return {}
    pairs = [(plain_html(gold) or gold, plain_html(reply) or reply) for gold, reply in match_plainly(golds, replies)]
    teds, structures = ([_teds(reply, gold, only) for gold, reply in pairs] for only in (False, True))
    means = {TEDS: sum(teds) / len(teds), TEDS_STRUCTURE: sum(structures) / len(structures)}
    return {TABLE_EDITS: sum_edits(pairs).similarity, **means}


def _teds(reply: str, gold: str, structure_only: bool) -> float:
    if not reply.startswith("<html>") or not gold.startswith("<html>"):
        return 0.0
    tables = [text.removeprefix("<html><body>").removesuffix("</body></html>") for text in (reply, gold)]
    return table_similarity(*tables, structure_only=structure_only)


_INLINE = re.compile(r"\$(.*?)\$|\\\((.*?)\\\)")
_ESCAPED = re.compile(r"\\([\\_&%^])")
_LINE_SIGNS = ("\\t", "\\n", "\t", "\n", "/t", "/n")
_NO_WORD = re.compile(r"[^\w\u4e00-\u9fff]")


def plain_text(text: str) -> str:
    """The word characters of a text, formulas in it as Unicode as far as they can be."""
    return word_characters(_formulas_as_text(text))


def formula_as_text(formula: str) -> str | None:
    """A formula as Unicode; None for one that the parser of LaTeX stops at."""
    from pylatexenc.latex2text import LatexNodes2Text
    from pylatexenc.latexwalker import LatexWalkerError

    try:
        return str(LatexNodes2Text().latex_to_text(formula))
    except (LatexWalkerError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _formulas_as_text(text: str) -> str:
    changes = []
    for match in _INLINE.finditer(text, 0, re.end_of_last(text, "$", "\\)")):
        formula = match[1] if match[1] is not None else match[2]
        formula = _ESCAPED.sub("", formula)
        if not any(sign in formula for sign in r"\^_"):
            continue
        formula += " " if formula.endswith("\\") else ""
        if (plain := formula_as_text(formula)) is not None:  # else it stays as it is, as there
            changes.append((*match.span(), plain))
    for start, end, formula in sorted(changes, reverse=True):
        text = text[:start] + formula.strip() + text[end:]
    return text


def word_characters(text: str) -> str:
    for signs in _LINE_SIGNS:
        text = text.replace(signs, "")
    return _NO_WORD.sub("", text)


_FONTS = (
    *("\\mathbf", "\\mathrm", "\\mathnormal", "\\mathit", "\\mathbb", "\\mathcal", "\\mathscr", "\\mathfrak"),
    *("\\mathsf", "\\mathtt", "\\textbf", "\\text", "\\boldmath", "\\boldsymbol", "\\operatorname", "\\bm"),
    *("\\symbfit", "\\mathbfcal", "\\symbf", "\\scriptscriptstyle", "\\notag", "\\setlength", "\\coloneqq"),
    *("\\space", "\\thickspace", "\\thinspace", "\\medspace", "\\nobreakspace", "\\negmedspace", "\\quad"),
    *("\\qquad", "\\enspace", "\\substackw", " "),
)
_DISPLAY = re.compile(r"\\\[(.+?)(?<!\\)\\\]")
_DROPPED = (
    re.compile(r"\\tag\{.*?\}"),
    re.compile(r"\\hspace\{.*?\}"),
    re.compile(r"\\begin\{.*?\}"),
    re.compile(r"\\end\{.*?\}"),
    re.compile(r"\\arraycolsep.*?\}"),
)


def plain_formula(text: str, also: Sequence[str] = ()) -> str:
    """A formula in lower case without fonts, blanks, tags, environments and what else is named."""
    display = _DISPLAY.search(text)
    text = display[1].strip() if display else text
    for pattern in _DROPPED:
        text = pattern.sub("", text)
    text = text.strip(".")
    for name in (*_FONTS, *also):
        text = text.replace(name, "")
    return text.lower()


_TABLE = re.compile(r"<table\b[^>]*>(.*)</table>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTES = [re.compile(f'( {name}=".*?")') for name in ("style", "height", "width", "align", "class")]
_BODY, _SPACE = re.compile("</?tbody>"), re.compile(r"\s+")
_INNER_TAGS = ("sup", "sub", "span", "div", "p")
_COLUMNS = re.compile("<colgroup>.*?</colgroup>")


def plain_html(text: str) -> str:
    """A page of HTML with the tables of a text as one, without what only shows how they look; empty for a
    text without a table."""
    if "<table" not in text.replace(" ", "").replace("'", '"'):
        return ""
    text = html.unescape(_without_headers(text)).replace("\n", "")
    text = unicodedata.normalize("NFKC", text).strip()
    inner = "".join(_TABLE.findall(text))
    for attribute in _ATTRIBUTES:
        inner = attribute.sub("", inner)
    inner = _SPACE.sub(" ", _BODY.sub("", inner))
    page = f'<html><body><table border="1" >{inner}</table></body></html>'
    for tag in _INNER_TAGS:
        page = page.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return _COLUMNS.sub("", page.replace('<spandata-span-identity="">', ""))


def _without_headers(text: str) -> str:
    """Header cells as others, without heads of tables and spans, formulas by their alternative text."""
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        soup = BeautifulSoup(text, "html.parser")
    except ParserRejectedMarkup:
        return text
    for cell in soup.find_all("th"):
        cell.name = "td"
    for head in soup.find_all("thead"):
        head.unwrap()
    for formula in soup.find_all("math"):
        formula.replace_with(f"${formula.get('alttext', '')}$")
    for span in soup.find_all("span"):
        span.unwrap()
    return str(soup)

r"""OmniDocBench's metrics of one page in version 1.5 (opendatalab/OmniDocBench, utils/match_quick.py and
dataset/end2end_dataset.py): as in version 1.0 (`omnidocbench`), but text and display formulas are matched
together, so that a formula which a reply writes as text, or the other way round, is found.

What differs: blocks of a reply that are like a caption, header or footer are taken away first; formulas of one
column are split into their lines; formulas in a line of text are matched last and not counted where they match
nothing; what a reply invents does not count; a display formula that is matched with text counts as text; tables
that match none are text. LaTeX tables still score 0, and where a page has more of them than of HTML tables,
all its tables do. Gold blocks without letters and digits still shift the reading order of those behind them.

CDM, the authors' metric of formulas, is no part of this: `formula_sources` of the matches is what it compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from snellen.core import lazy_re as re
from snellen.core.page import Block, Page
from snellen.scoring.pages.matching import Edits, sum_edits
from snellen.scoring.pages.omnidocbench import (
    COUNTED,
    LEFT_OUT,
    check_packages,
    formula_as_text,
    order_edits,
    plain_formula,
    plain_text,
    sorted_blocks,
    table_parts,
    word_characters,
)
from snellen.scoring.pages.page_score import FORMULA, ORDER, TEXT
from snellen.scoring.pages.quick_match import assign, distances, pair_lines

_FORMULA = "equation_isolated"
_IGNORED = frozenset({*LEFT_OUT, "equation_caption"})
_ALIKE = 0.25
"""Distance to a block that does not count below which a block of a reply does not either."""
_ARRAY = re.compile(r"\\begin\{array\}\{([^}]*)\}(.*?)\\end\{array\}", re.DOTALL)
_RULES = re.compile(r"\s+|\||@\{[^}]*\}|!\{[^}]*\}")
_LINE_END = re.compile(r"\\\\")
_LATER_FONTS = ("$$", "\\left", "\\right", "\\displaystyle", "\\text")
_DOT = re.compile(r"\$\\cdot\$")


class WrittenBlock(NamedTuple):
    """A block of a reply, of the kinds of `extract.published.omnidocbench`."""

    kind: Literal["html_table", "latex_table", "formula", "text"]
    place: int
    text: str
    is_inline: bool = False


class _GoldLine(NamedTuple):
    """A gold block, or one line of a formula."""

    category: str
    text: str
    order: float = 0
    """Place in the reading order; 0 for none."""

    def plain(self) -> str:
        return _plain_formula(self.text) if self.category == _FORMULA else plain_text(self.text)


class HybridMatch(NamedTuple):
    """Gold blocks of one category and what of a reply they are compared with, plain and as written."""

    category: str
    gold: str
    reply: str
    orders: Sequence[float]
    place: int | None
    """Where the reply has it; None if it does not."""
    reply_kind: str
    """`formula` or `text`; empty if the reply has none."""
    gold_source: str
    reply_source: str


class PageMatches(NamedTuple):
    """The matches of a page that count."""

    texts: list[HybridMatch]
    formulas: list[HybridMatch]
    moved: list[HybridMatch]
    """Display formulas that are matched with text, as text."""
    tables: tuple[list[str], list[str]]
    """Of the gold page and of the reply."""

    def parts(self) -> dict[str, float]:
        """Each part that the gold page has, 0..1, higher is better: 1 - normalised edit distance of text,
        formulas, tables and reading order, and TEDS."""
        parts = {
            TEXT: _edits([*self.texts, *self.moved]),
            FORMULA: _edits(self.formulas),
            ORDER: order_edits([(match.orders, match.place) for match in self.texts]),
        }
        found = {name: edits.similarity for name, edits in parts.items() if edits.length}
        return {**found, **table_parts(*self.tables)}

    def formula_sources(self) -> list[tuple[str, str]]:
        """The LaTeX of each gold formula and of the reply's, as the authors give it to CDM."""
        return [
            (_strip_dollars(one.gold_source), _strip_dollars(one.reply_source.split("```latex")[-1].split("```")[0]))
            for one in self.formulas
        ]


def match_page(reply: Sequence[WrittenBlock], gold: Page) -> PageMatches:
    """The texts, formulas and tables of a reply with those of a gold page."""
    check_packages()
    tables = [block.text for block in sorted_blocks(gold, ("table",)) if block.text]
    reply_tables, cells = _split_tables(tables, reply)
    blocks = sorted([*_by_kind(reply), *cells], key=lambda block: (block.is_inline, block.place))
    written = [line for block in blocks for line in _lines_of_reply(block)]
    golds = [line for block in sorted_blocks(gold, (*COUNTED, *LEFT_OUT, _FORMULA)) for line in _lines_of_gold(block)]
    matches = _matches(golds, written)
    formulas = [match for match in matches if match.category == _FORMULA]
    return PageMatches(
        [match for match in matches if match.category not in (_FORMULA, "") and match.category not in _IGNORED],
        [match for match in formulas if match.reply_kind != "text"],
        [_as_text(match) for match in formulas if match.reply_kind == "text"],
        (tables, reply_tables),
    )


def _strip_dollars(formula: str) -> str:
    return formula.strip("$").strip().strip("$").strip()


def _by_kind(reply: Sequence[WrittenBlock]) -> list[WrittenBlock]:
    """Texts and formulas, those of the kind that comes first before the others."""
    blocks = [block for block in reply if block.kind in ("text", "formula")]
    return [block for kind in dict.fromkeys(block.kind for block in blocks) for block in blocks if block.kind == kind]


def _split_tables(golds: Sequence[str], reply: Sequence[WrittenBlock]) -> tuple[list[str], list[WrittenBlock]]:
    """The tables of a reply that are compared with those of the gold page, and the cells of all others, which
    are text. A page without tables has neither."""
    tables = [block for block in reply if block.kind == "html_table" and block.text]
    latex = sum(block.kind == "latex_table" for block in reply)
    if not golds or not tables or latex > len(tables):
        return [], []
    kept = {index for _, index in assign(distances(golds, [block.text for block in tables]))}
    others = [block for index, block in enumerate(tables) if index not in kept]
    cells = [block._replace(kind="text", text=cell) for block in others for cell in _cells(block.text)]
    return [block.text for block in tables], cells


def _cells(table: str) -> list[str]:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        cells = BeautifulSoup(table, "html.parser").find_all("td")
    except ParserRejectedMarkup:
        return []
    return [_DOT.sub("", cell.string).strip() for cell in cells if cell.string]


def _array_lines(formula: str) -> list[tuple[str, int]]:
    """The lines of a formula, of which only an array of one column has several, and where each begins."""
    array = _ARRAY.search(formula)
    if array is None or _RULES.sub("", array[1]) not in ("l", "c", "r"):
        return [(formula, 0)]
    found, place = [], 0
    for line in map(str.strip, _LINE_END.split(array[2])):
        if line:
            start = array[2].find(line, place)
            place = start + len(line)
            found.append((f"\\[{line}\\]", array.start(2) + start))
    return found


def _lines_of_gold(block: Block) -> list[_GoldLine]:
    text = block.source or block.text
    lines = _array_lines(text) if block.category == _FORMULA else [(text, 0)]
    if [line for line, _ in lines] == [text]:
        return [_GoldLine(block.category, text, block.order)]
    return [
        _GoldLine(block.category, line, round(block.order + number / 10, 1))
        for number, (line, _) in enumerate(lines, 1)
    ]


def _lines_of_reply(block: WrittenBlock) -> list[WrittenBlock]:
    lines = _array_lines(block.text) if block.kind == "formula" else [(block.text, 0)]
    return [block._replace(text=line, place=block.place + start) for line, start in lines]


def _plain_formula(text: str) -> str:
    return plain_formula(text.strip().strip("$").strip("\n"), _LATER_FONTS)


def _matches(golds: Sequence[_GoldLine], written: Sequence[WrittenBlock]) -> list[HybridMatch]:
    """The matches of lines. By oversight the authors take orders, places and kinds from the lists with those
    that have no plain text."""
    lines = [(plain, line.text, line.category) for line in golds if line.text and (plain := line.plain())]
    replies = [
        (plain, block.text)
        for block in written
        if block.text and (plain := _plain_formula(block.text) if block.kind == "formula" else plain_text(block.text))
    ]
    gold_places, reply_places = list(range(len(lines))), list(range(len(replies)))
    if not len(lines) == len(replies) == 1 and replies:
        ignored = [plain for plain, _, category in lines if category in _IGNORED]
        gold_places = [place for place in gold_places if lines[place][2] not in _IGNORED]
        near = distances([plain for plain, _ in replies], ignored)
        reply_places = [place for place in reply_places if not any(cost < _ALIKE for cost in near[place])]
    pairs = pair_lines([lines[place][0] for place in gold_places], [replies[place][0] for place in reply_places])
    found = []
    for of_gold, of_reply in pairs:
        if not of_gold:
            continue
        places, others = [gold_places[index] for index in of_gold], [reply_places[index] for index in of_reply]
        categories = [lines[place][2] for place in places]
        category = Counter(categories).most_common(1)[0][0]
        first = written[others[0]] if others else None
        found.append(
            HybridMatch(
                category,
                "".join(lines[place][0] for place in places),
                "".join(replies[place][0] for place in others),
                [golds[place].order for place in places],
                first.place if first else None,
                first.kind if first else "",
                _join([lines[place][1] for place in places], category == _FORMULA),
                _join([replies[place][1] for place in others], first is not None and first.kind == "formula"),
            )
        )
    return found


def _join(sources: Sequence[str], is_formula: bool) -> str:
    """Texts as written; several formulas as the lines of an array."""
    if not is_formula or len(sources) < 2:
        return "".join(sources)
    lines = r" \\ ".join("{" + source.strip("$").strip("\n") + "}" for source in sources)
    return rf"\begin{{array}}{{l}} {lines} \end{{array}}"


def _as_text(match: HybridMatch) -> HybridMatch:
    text = formula_as_text(match.gold_source)
    if text is None:
        return match
    return match._replace(gold=word_characters(text) or text)


def _edits(matches: Sequence[HybridMatch]) -> Edits:
    return sum_edits((match.gold, match.reply) for match in matches)

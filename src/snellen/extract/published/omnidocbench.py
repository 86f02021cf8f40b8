r"""Blocks of a page as OmniDocBench's evaluation splits them, in the release that VLMEvalKit holds
(vlmeval/dataset/OmniDocBench/utils.py, `md_tex_filter`): LaTeX tables, HTML tables, formulas, pipe
tables, code, then text at blank lines. Restated with its oddities, because published scores have them:

* `<table></table>` counts as unclosed, and a tabular takes the character behind its end along.
* Formulas in a line of text are candidates for display formulas, too, and stay in the text.
* Positions of texts leave out the blank lines between them, those of other blocks do not.

Version 1.5 (utils/extract.py of the authors' repository) splits alike but for the fences, signs and tags that
it takes away first, and for line breaks in formulas.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple

from snellen.core import lazy_re as re

PartKind = Literal["html_table", "latex_table", "formula", "text"]


class WrittenPart(NamedTuple):
    """A part of a reply, in the order of places."""

    kind: PartKind
    place: int
    text: str
    is_inline: bool = False
    """Whether a formula stands in a line of text."""


_PICTURE = re.compile(r"!\[.*?\]\(.*?\)")
_FENCE_START = re.compile(r"^```markdown\n?", re.MULTILINE)
_LATER_FENCE_START = re.compile(r"^```(?:markdown|html|latex)\n?", re.MULTILINE)
_PAGE_TAG = re.compile(r"</?(?:html|body)>")
_FENCE_END = re.compile(r"```\n?$", re.MULTILINE)
_UNDERSCORES, _BLANKS = re.compile(r"_{4,}"), re.compile(r" {4,}")
_REPEATED = re.compile(r"([^a-zA-Z0-9])\1{10,}")
_LATEX_TABLE = re.compile(r"\\begin{table}(.*?)\\end{table}", re.DOTALL)
_TABULAR = (re.compile(r"(?=\\begin{tabular})"), re.compile(r"(?=\\end{tabular})"), 16, 14)
_HTML_TABLE = (re.compile(r"(?=<table[^>]*>)"), re.compile(r"(?=</table>)"), 16, 8)
"""Patterns of begin and end, and the lengths by which the search goes on behind them: those of the
patterns, not of what they match."""
_Edges = tuple[re.Pattern[str], re.Pattern[str], int, int]
_DISPLAY = re.compile(r"\$\$(.*?)\$\$|\\\[(.*?)\\\]|\$(.*?)\$|\\\((.*?)\\\)", re.DOTALL)
_DOLLARS = re.compile(r"\$\$(.*?)\$\$|\$(.*?)\$|\\\((.*?)\\\)", re.DOTALL)
_PIPES = re.compile(r"\|\s*.*?\s*\|\n", re.DOTALL)
_WHOLE_TABLE = re.compile(r"(<table.*?</table>)", re.DOTALL)
_PLAIN_TABLE = re.compile(r"<table>[\s\S]*?</table>")
_COMMENT = re.compile(r"<!--[\s\S]*?-->")
_TABLE_TAG = re.compile(r"</?t(able|head|body)>")
_DASHES = re.compile(r"-*?:|---|:-*?")
_CODE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_STYLES = (
    re.compile(r"\\title\{(.*?)\}"),
    re.compile(r"\\title\s*\{\s*(.*?)\s*\}", re.DOTALL),
    re.compile(r"\\text\s*\{\s*(.*?)\s*\}", re.DOTALL),
    re.compile(r"\\section\*?\{(.*?)\}"),
    re.compile(r"\\section\*?\{\s*(.*?)\s*\}", re.DOTALL),
)


def split_page(content: str, *, is_later: bool = False) -> list[WrittenPart]:
    """The parts of a reply by place, equal places in the order in which they are found; `is_later` splits as
    version 1.5 does."""
    fence = _LATER_FENCE_START if is_later else _FENCE_START
    content = _FENCE_END.sub("", fence.sub("", re.sub_closed(_PICTURE, "", content, ")")))
    content = _BLANKS.sub("    ", _UNDERSCORES.sub("____", content))
    content = _PAGE_TAG.sub("", content) if is_later else _REPEATED.sub(r"\1\1\1\1", content)
    parts: list[WrittenPart] = []
    for place, table in _latex_tables(content):
        parts.append(WrittenPart("latex_table", place, table))
        content = _blank(content, place, place + len(table))
    for place, table in _between(content, _HTML_TABLE):
        parts.append(WrittenPart("html_table", place, table))
        content = _blank(content, place, place + len(table))
    content = _take_formulas(content, parts, is_later)
    if len(_find_pipes(content + "\n")) >= 2:
        content = _pipes_to_html(content)
        for match in _WHOLE_TABLE.finditer(content):
            parts.append(WrittenPart("html_table", match.start(), match[0].strip()))
            content = _blank(content, *match.span())
    for match in _CODE.finditer(content):
        parts.append(WrittenPart("text", match.start(), match[2].strip()))
        content = _blank(content, *match.span())
    for style in _STYLES:
        content = re.sub_closed(style, r"\1", content, "}")
    _take_texts(content, parts)
    return sorted(parts, key=lambda part: part.place)


def _find_pipes(text: str) -> list[str]:
    return _PIPES.findall(text, 0, re.end_of_last(text, "|\n"))


def _blank(content: str, start: int, end: int) -> str:
    return content[:start] + " " * (end - start) + content[end:]


def _latex_tables(content: str) -> list[tuple[int, str]]:
    tables = [
        (match.span(), match[0]) for match in _LATEX_TABLE.finditer(content, 0, re.end_of_last(content, "\\end{table}"))
    ]
    for span, _ in tables:
        content = _blank(content, *span)
    tabulars = [((place, place + len(text)), text) for place, text in _between(content, _TABULAR)]
    return [(span[0], text) for span, text in sorted([*tables, *tabulars], key=lambda one: one[0][0])]


def _between(text: str, edges: _Edges) -> list[tuple[int, str]]:
    """Place and text of what stands between begin and end, outermost ones; behind a begin without an
    end the search starts anew."""
    begin, end, begin_length, end_length = edges
    begins = [match.start() for match in begin.finditer(text)]
    ends = [match.start() for match in end.finditer(text)]
    found: list[tuple[int, str]] = []
    start: int | None = 0
    while start is not None and start < len(text):
        pairs, unclosed = _pair_edges(begins, ends, start, end_length)
        found += [(first, text[first : last + end_length]) for first, last in pairs]
        start = None if unclosed is None else unclosed + begin_length
    return found


def _pair_edges(
    begins: Sequence[int], ends: Sequence[int], place: int, step: int
) -> tuple[list[tuple[int, int]], int | None]:
    """The outermost pairs of begin and end from a place on, and the first begin that has no end."""
    pairs: list[tuple[int, int]] = []
    open_at: list[int] = []
    first, last = bisect_left(begins, place), bisect_left(ends, place)
    while last < len(ends):
        if first < len(begins) and begins[first] < ends[last]:
            open_at.append(begins[first])
            place = begins[first] + step
        else:
            if open_at:
                start = open_at.pop()
                if not open_at:
                    pairs.append((start, ends[last]))
            place = ends[last] + step
        first, last = bisect_left(begins, place, first), bisect_left(ends, place, last)
    # Behind the last end each begin has none.
    unclosed = [*open_at, *begins[first : first + 1]]
    return pairs, unclosed[0] if unclosed else None


def _take_formulas(content: str, parts: list[WrittenPart], is_later: bool) -> str:
    """Add formulas to the parts; display formulas are blanked, those in a line stay."""
    for match in list(_DISPLAY.finditer(content, 0, re.end_of_last(content, "$", "\\]", "\\)"))):
        if not match[0]:
            continue
        line = " ".join(match[0].strip().split("\n")) if is_later else "".join(match[0].split())
        inner = _DOLLARS.search(line)
        if inner is not None:
            groups = r"\\[\1\\]" if inner[1] else r"\\[\2\3\\]"
            line = _DOLLARS.sub(groups, line)
        is_inline = inner is not None and not inner[1]
        if not is_inline:
            content = _blank(content, *match.span())
        parts.append(WrittenPart("formula", match.start(), line, is_inline))
    return content


def _take_texts(content: str, parts: list[WrittenPart]) -> None:
    """Add the texts between blank lines, of a page without any the lines."""
    texts = content.split("\n\n")
    if len(texts) == 1:
        texts = content.split("\n")
    place = 0
    for text in texts:
        start, place = place, place + len(text)
        text = "\n".join(line.strip() for line in text.strip().split("\n") if line.strip())
        if text.startswith("<table") and text.endswith("</table>"):
            parts.append(WrittenPart("html_table", start, text))
        elif text.startswith("$") and text.endswith("$"):
            if text.replace("$", "").strip():
                parts.append(WrittenPart("formula", start, text))
        elif text:
            parts.append(WrittenPart("text", start, text))


def _pipes_to_html(content: str) -> str:
    """A page whose pipe tables are HTML, line by line, then joined where they follow one another."""
    content = content.replace("\r", "") + "\n"
    for rows in _find_pipes(content):
        content = content.replace(rows, _rows_to_html(rows), 1)
    joined = _join_tables(content)
    return joined.replace("<table>", '<table border="1" >').replace("<td>", '<td colspan="1" rowspan="1">')


def _rows_to_html(rows: str) -> str:
    """The first line as the header of a table, the lines from the third on as its rows."""
    lines = [line.strip() for line in rows.strip().split("\n")]
    header, *others = ([cell.strip() for cell in line.split("|")[1:-1]] for line in (lines[0], *lines[2:]))
    head = "".join(f"      <th>{cell}</th>\n" for cell in header)
    body = "".join(
        "    <tr>\n" + "".join(f"      <td>{cell}</td>\n" for cell in cells) + "    </tr>\n" for cells in others
    )
    return f"<table>\n  <thead>\n    <tr>\n{head}    </tr>\n  </thead>\n  <tbody>\n{body}  </tbody>\n</table>\n"


def _join_tables(content: str) -> str:
    """The lines of the page, tables that follow one another as one, without lines that look like the
    dashes below a header."""
    written: list[str] = []
    block, before, inside = "", "", False
    for line in content.split("\n"):
        if "<table>" in line:
            inside = True
            block += before
        elif inside:
            if not _DASHES.search(before) and "</thead>" not in before:
                block += "\n" + before
            if "</table>" in before and "<table>" not in line:
                inside = False
                written.append(_merge_tables(block))
                block = ""
        else:
            written.append(before)
        before = line
    if before:
        if inside or "</table>" in before:
            written.append(_merge_tables(f"{block}\n{before}"))
        else:
            written.append(before)
    return "\n".join(written)


def _merge_tables(block: str) -> str:
    rows: list[str] = []
    for table in _PLAIN_TABLE.findall(_COMMENT.sub("", block)):
        lines = [
            line.replace("<th>", "<td>").replace("</th>", "</td>") if "<th>" in line else line
            for line in table.split("\n")
        ]
        kept = [line for line in lines if not _TABLE_TAG.search(line)]
        rows += kept if len(kept) > 2 else []
    return "\n\n<table>\n" + "\n".join(rows) + "\n</table>\n\n"

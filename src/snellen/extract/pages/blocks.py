r"""Take the page that a reply writes apart into blocks: text, tables, display formulas.

Read are Markdown, HTML, LaTeX and mixtures of them, in a code fence or not; JSON that lists blocks
({"category", "text"}, as some models for documents write); and Markdown behind a YAML header. Tables
count in HTML, with pipes or as a tabular; formulas between $$, \[ and \], or in an environment. Pictures
and comments are no blocks. A page that was cut off is read as far as it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

from snellen.core import lazy_re as re
from snellen.core.limits import DEFAULT_LIMITS, is_too_deep
from snellen.core.literals import load_json
from snellen.core.output import Answer, Empty, ParsedAnswer, Refused
from snellen.core.page import Block, BlockKind
from snellen.extract.open_text import parse_whole, refuses
from snellen.extract.pages.tables import is_rule_line, latex_table, pipe_cells, pipe_table

CUT_OFF = "page that was cut off"
_LONGEST_REFUSAL = 300
_HEADER = re.compile(r"---[ \t]*\n(?:[\w-]+:.*\n)+---[ \t]*(?:\n|\Z)")
_OUTER_FENCE = re.compile(
    r"(?:[^\n`|<#$]{0,200}\n\s*)?```[ \t]*(?:markdown|md|html|latex|tex|text)?[ \t]*\n(.*?)(?:\n```[^`]*)?\Z", re.DOTALL
)
_MARKUP_FENCE = re.compile(r"^```[ \t]*(?:markdown|md|html|latex|tex|math)[ \t]*\n", re.MULTILINE)
_FENCE_END = re.compile(r"^```[ \t]*$", re.MULTILINE)
_PART = re.compile(
    r"(?P<comment><!--.*?(?:-->|\Z))"
    r"|(?P<fence>^```[^\n]*\n(?P<code>.*?)(?:^```[ \t]*$|\Z))"
    r"|(?P<picture>!\[[^\]\n]*\]\([^)\n]*\)|<img\b(?:[^<>]|<(?!img\b))*>)"
    r"|(?P<table><table\b)"
    r"|(?P<latex>\\begin\{(?P<name>table\*?|tabular[xy*]?|longtable)\}.*?(?:\\end\{(?P=name)\}|\Z))"
    r"|\$\$(?P<dollars>.+?)(?:\$\$|\Z)"
    r"|\\\[(?P<brackets>.+?)(?:\\\]|\Z)"
    r"|\\begin\{(?P<env>equation|align|gather|multline|eqnarray|displaymath|math)\*?\}(?P<body>.+?)"
    r"(?:\\end\{(?P=env)\*?\}|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TABLE_EDGE = re.compile(r"<(/?)table\b[^<>]*>?", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:html|head|body|div|p|section|article|header|footer|main|ul|ol|li|h[1-6]|blockquote|figure|figcaption|pre"
    r"|page|aside|nav|title|dl|dt|dd)\b[^<>]*>",
    re.IGNORECASE,
)
_HEADING_TAG = re.compile(r"<h([1-6])\b[^<>]*>", re.IGNORECASE)
_DROPPED_TAG = re.compile(r"<(style|script|head)\b.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|$)")
_LONE_FORMULA = re.compile(r"\$(?!\$)([^$]+)\$|\\\(((?:(?!\\\)).)+)\\\)", re.DOTALL)
_PAGE_MARK = re.compile(r"(?:-{3,}|\*{3,}|_{3,}|\\newpage|\\(?:begin|end)\{document\}|\\documentclass\{\w+\})\s*")
_NAMES_OF_TEXT = ("text", "content", "html", "latex", "markdown", "value", "natural_text")
_NAMES_OF_KIND = ("category", "category_type", "type", "label", "kind")
_DROPPED = frozenset({"figure", "image", "picture", "chart", "logo", "seal", "photo", "abandon", "mask"})
_FORMULAS = ("formula", "equation", "math")


def parse_page(reply: str, stop_reason: str = "stop") -> Answer:
    """The page of a reply as it is written, without thinking and an outer code fence."""
    whole = parse_whole(reply, stop_reason=stop_reason)
    if not isinstance(whole, ParsedAnswer) or whole.span is None:
        return whole
    first, last = whole.span
    if last - first <= _LONGEST_REFUSAL and refuses(whole.value):
        return Refused("refusal phrase")
    rule = whole.rule
    if fence := _OUTER_FENCE.fullmatch(whole.value):
        rule, (first, last) = "code fence", (first + fence.start(1), first + fence.end(1))
    if stop_reason == "length":
        rule = CUT_OFF
    return ParsedAnswer(reply[first:last], rule, (first, last)) if reply[first:last].strip() else Empty()


def page_blocks(text: str) -> list[Block]:
    """The blocks of a page in the order in which they are written. Those of a picture, of a comment
    and without any text are left out."""
    text = _HEADER.sub("", text.replace("\r\n", "\n").lstrip(), count=1)
    listed = _blocks_of_json(text)
    if listed is not None:
        return listed
    text = _without_fences(_DROPPED_TAG.sub("", text))
    return [block for block in _split_parts(text) if block.text.strip()]


def _without_fences(text: str) -> str:
    """The text with what stands in fences of markup, without the fences."""
    pieces, place = [], 0
    # One pattern with `.*?` would look for an end behind each beginning: quadratic time where there is none.
    while (begin := _MARKUP_FENCE.search(text, place)) and (end := _FENCE_END.search(text, begin.end())):
        pieces += [text[place : begin.start()], text[begin.end() : end.start()]]
        place = end.end()
    return "".join(pieces) + text[place:]


def _split_parts(text: str) -> Iterator[Block]:
    # In a page without blank lines every line is a paragraph.
    by_line = _BLANK_LINE.search(text.strip()) is None
    place, between = 0, ""
    while match := _PART.search(text, place):
        between += text[place : match.start()]
        block, place = _part(text, match)
        if block is not None:
            yield from _text_blocks(between, by_line)
            yield block
            between = ""
        else:
            between += "\n\n" if match["comment"] is None else ""
    yield from _text_blocks(between + text[place:], by_line)


def _part(text: str, match: re.Match[str]) -> tuple[Block | None, int]:
    """The block of a part, None for a picture or a comment, and where the text goes on."""
    if match["table"] is not None:
        end = _table_end(text, match.start())
        return Block(text[match.start() : end], "table"), end
    if match["latex"] is not None:
        return Block(latex_table(match["latex"]) or match["latex"], "table"), match.end()
    if match["fence"] is not None:
        return Block(match["code"].strip("\n"), category="code"), match.end()
    formula = match["dollars"] or match["brackets"] or match["body"]
    return (Block(formula.strip(), "formula") if formula else None), match.end()


def _table_end(text: str, start: int) -> int:
    """The place behind a table in HTML and those in it; the end of a text that lacks it."""
    depth = 0
    for match in _TABLE_EDGE.finditer(text, start):
        depth += -1 if match[1] else 1
        if depth <= 0:
            return match.end()
    return len(text)


def _text_blocks(text: str, by_line: bool) -> Iterator[Block]:
    """The paragraphs, headings and pipe tables between other parts."""
    text = _HEADING_TAG.sub(lambda match: f"\n\n{'#' * int(match[1])} ", text)
    paragraph: list[str] = []
    lines = _BLOCK_TAG.sub("\n\n", text).split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        rows = _table_lines(lines, place)
        ends = by_line or not line.strip() or rows or _HEADING.match(line) or _PAGE_MARK.fullmatch(line)
        if ends:
            yield from _paragraph(paragraph)
            paragraph = []
        if rows:
            yield Block(pipe_table(lines[place : place + rows]), "table")
        elif _HEADING.match(line):
            yield Block(unescape(line).strip().lstrip("#").strip(), category="title")
        elif not _PAGE_MARK.fullmatch(line):
            paragraph.append(line)
        place += rows or 1
    yield from _paragraph(paragraph)


def _paragraph(lines: list[str]) -> Iterator[Block]:
    text = "\n".join(line.strip() for line in lines if line.strip())
    if lone := _LONE_FORMULA.fullmatch(text):
        yield Block((lone[1] or lone[2]).strip(), "formula")
    elif text:
        yield Block(unescape(text))


def _table_lines(lines: list[str], start: int) -> int:
    """The number of lines of the pipe table that begins at a line; 0 if none does. It has a line of
    dashes below its header, or each line begins and ends with a pipe."""
    count = start
    while count < len(lines) and "|" in lines[count] and lines[count].strip():
        count += 1
    rows = lines[start:count]
    if len(rows) > 1 and is_rule_line(rows[1]):
        return len(rows)
    closed = 0
    for row in rows:
        if not (row.strip().startswith("|") and row.strip().endswith("|") and len(pipe_cells(row)) > 1):
            break
        closed += 1
    return closed if closed > 1 else 0


def block_of(value: Any) -> Block | None:
    """The block that an object of a list describes; None for a picture and one without text. Raises
    ValueError for what is no such object."""
    if not isinstance(value, dict):
        raise ValueError("a block is no object")
    name = next((name for name in _NAMES_OF_KIND if isinstance(value.get(name), str)), "")
    category = str(value.get(name, "")).strip().lower().replace("-", "_").replace(" ", "_") if name else ""
    if category in _DROPPED or category.endswith("_mask"):
        return None
    kind: BlockKind = "text"
    if category in ("table", "tabular"):
        kind = "table"
    elif (category.startswith(_FORMULAS) and not category.endswith("caption")) or category.endswith(_FORMULAS):
        kind = "formula"
    names = {"table": ("html", *_NAMES_OF_TEXT), "formula": ("latex", *_NAMES_OF_TEXT)}.get(kind, _NAMES_OF_TEXT)
    text = next((value[name] for name in names if isinstance(value.get(name), str) and value[name].strip()), None)
    if text is None:
        if not name and not any(key in value for key in _NAMES_OF_TEXT):
            raise ValueError("a block has neither a category nor a text")
        return None
    if kind != "text":
        read = [block for block in _split_parts(text) if block.kind == kind]
        text = read[0].text if read else text
    return Block(text.strip(), kind, category)


def _blocks_of_json(text: str) -> list[Block] | None:
    """The blocks of a reply that lists them in JSON; None for another."""
    if not text.startswith(("[", "{")):
        return None
    try:
        value = load_json(text)
    except ValueError:
        return None
    if is_too_deep(value, DEFAULT_LIMITS.depth):
        return None
    if isinstance(value, dict):
        for name in ("blocks", "elements", "layout", "layout_dets", "parsing_res_list"):
            if isinstance(value.get(name), list):
                value = value[name]
                break
        else:
            written = next((value[name] for name in _NAMES_OF_TEXT if isinstance(value.get(name), str)), None)
            return page_blocks(written) if written is not None else None
    if not isinstance(value, list) or not value:
        return None
    try:
        return [block for one in value if (block := block_of(one)) is not None]
    except ValueError:
        return None

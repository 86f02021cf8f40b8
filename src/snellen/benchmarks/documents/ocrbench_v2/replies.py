"""What stands in a reply to OCRBench v2, as the authors' scripts read it: records, charts, tables, boxes.

Each reader takes the whole reply. A reply without what is looked for gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from snellen.core import lazy_re as re
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal, load_json
from snellen.core.place import Box

_FENCE = re.compile(r"```(?:python|json)?\n", re.IGNORECASE)
_FENCE_END = "\n```"
_NAME = re.compile(r"[\w\s]+")
_VALUE = re.compile(r"[\"']?\s*[:=]\s*[\"']?([^\n,\"'{}]+)[\"']?")
_ASSIGNMENT = re.compile(r"^\s*\w+\s*=\s*")
_COMMENT = re.compile(r"#.*")
_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_LARGEST = 1000


class TextBox(NamedTuple):
    """A text and the box that it stands in, in thousandths of the picture."""

    box: Box
    text: str


def read_record(reply: str) -> dict[str, str]:
    """Names and values of the record in a reply: JSON or a Python literal, in the first fence if there is
    one; else what stands on both sides of colons and equals signs."""
    content = next(_fence_contents(reply), reply.strip())
    try:
        data = load_json(content)
    except ValueError:
        data = _read_literal(content)
    if data is None:
        data = {name.strip(): value.strip() for name, value in _pairs(content)}
    if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
        return {}
    return {name.strip(): str(value).strip() for name, value in data.items()}


def _fence_contents(text: str) -> Iterator[str]:
    """The contents of the fences that are closed."""
    start = _FENCE.search(text)
    while start is not None and (end := text.find(_FENCE_END, start.end())) >= 0:
        yield text[start.end() : end]
        start = _FENCE.search(text, end + len(_FENCE_END))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Words with what stands behind the colon or equals sign that follows them."""
    name = _NAME.search(text)
    while name is not None:
        value = _VALUE.match(text, name.end())
        if value is not None:
            yield name[0], value[1]
        name = _NAME.search(text, value.end() if value else name.end())


def _read_literal(content: str) -> Any:
    """The value of a Python literal; None for another text."""
    try:
        value = evaluate_literal(content)
    except BROKEN_LITERAL:
        return None
    return () if value is None else value


def read_chart(reply: str) -> dict[Any, Any]:
    """The Python literal of an object in a reply, in its longest fence if there are any, up to the last
    brace, without a name that it is assigned to and without comments."""
    fences = list(_fence_contents(reply))
    content = max(fences, key=len) if fences else reply.strip()
    content = _COMMENT.sub("", _ASSIGNMENT.sub("", content.strip(), count=1))
    end = content.rfind("}")
    value = _read_literal(content[: end + 1] if end >= 0 else content)
    return value if isinstance(value, dict) else {}


def chart_page(chart: Mapping[Any, Any]) -> str:
    """An object as the HTML of a table of two columns. Signs of values are parted by blanks."""
    rows = (f"  <tr><td>{name}</td><td>{' '.join(str(value))}</td></tr>\n" for name, value in chart.items())
    return f"<html><body><table>\n{''.join(rows)}</table></body></html>"


def table_page(text: str) -> str:
    """The HTML of a reply from its body, else its first table on, as a page; empty without one. Missing tags
    of table, body and page are added."""
    joined = text.replace("\n", "")
    start = next((joined.index(tag) for tag in ("<body", "<table") if tag in joined), -1)
    return wrap_table(joined[start:]) if start >= 0 else ""


def wrap_table(html: str) -> str:
    """A table as a page: tags that it lacks are added."""
    html = html.replace("\n", "")
    opened, closed = "<table" in html, "</table>" in html
    html = ("" if opened else "<table>") + html + ("" if closed else "</table>")
    if "<body>" not in html:
        html = f"<body>{html}</body>"
    return html if "<html>" in html else f"<html>{html}</html>"


def markdown_page(text: str) -> str:
    """A table in Markdown as a page. The first line is the header, the second is left out, and of each
    line what stands before the first and behind the last stroke."""
    lines = text.strip("`markdown").strip("`").strip().split("\n")
    rows = []
    for line in [lines[0], *lines[2:]]:
        cells = (cell.strip() or " " for cell in line.strip().split("|")[1:-1])
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f"<html><body><table>{''.join(rows)}</table></body></html>".replace("\n", "")


def read_text_boxes(reply: str) -> list[TextBox]:
    """The boxes with texts in a reply: items of five in a Python literal, else in any brackets. Boxes with
    numbers that are not whole or not in 0 to 1000, without an area, and repeated ones are left out."""
    try:
        value = evaluate_literal(reply)
    except BROKEN_LITERAL:
        items: Sequence[Any] = [match.strip().split(",", 4) for match in _BRACKETS.findall(reply)]
    else:
        items = value if isinstance(value, list | tuple) else ()
    read = (_text_box(item) for item in items if isinstance(item, list | tuple) and len(item) >= 5)
    boxes = dict.fromkeys(one for one in read if one is not None)
    return [one for one in boxes if one.box.left < one.box.right and one.box.top < one.box.bottom]


def _text_box(item: Sequence[Any]) -> TextBox | None:
    try:
        numbers = [int(str(number).strip()) for number in item[:4]]
    except ValueError:
        return None
    if not all(0 <= number <= _LARGEST for number in numbers):
        return None
    text = str(item[4]).replace("\n", "").strip().strip('"').strip("'")
    return TextBox(Box(*map(float, numbers)), text.replace("\r", ""))

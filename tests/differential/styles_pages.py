"""Made-up pages of documents, and the ways in which models write them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.differential.wrapping import wrapped_styles


class Part(NamedTuple):
    """A block of a page: its category there, and its text, HTML or LaTeX."""

    category: str
    text: str


Parts = list[Part]
Table = list[list[str]]

_SENTENCES = {
    "english": (
        "The harbour was rebuilt in 1891 after a fire had destroyed its eastern quay.",
        "Each lamp needs 4.5 litres of oil a week, which the keeper carries up the stairs.",
        "We measured the height of the tide with a gauge that floats in a well.",
        "Costs rose by 12% between the two wars, and wages did not follow.",
        "A second light was added so that ships could find the channel at night.",
        "No photograph of the first tower is known to exist.",
        "The letter of 3 May asks for glass, lead & two men who can climb.",
        "It follows that $a_1 + \\alpha^2$ is small whenever the water is calm.",
    ),
    "simplified_chinese": (
        "港口在一八九一年的大火之后重建，东码头全部更新。",
        "每盏灯每周需要四点五升油，由守塔人背上楼梯。",
        "我们用浮在井里的仪器测量潮水的高度。",
        "两次战争之间费用上涨了百分之十二，工资却没有增加。",
        "后来又加了一盏灯，船只在夜里也能找到航道。",
        "第一座塔没有留下任何照片。",
    ),
    "en_ch_mixed": (
        "The tide table 潮汐表 lists two heights for each day.",
        "灯塔 lighthouse 的高度是 31 m，重量是 12 t。",
        "Figure 3 shows 第三层 from the north.",
        "守塔人 keeps a diary in English and 中文.",
        "The glass was bought in Lyon 里昂 and shipped by rail.",
    ),
}
_TITLES = {
    "english": ("1 The harbour light", "2.3 Costs and wages", "Keeping the lamp"),
    "simplified_chinese": ("第一章 港口的灯", "二、费用与工资", "灯的维护"),
    "en_ch_mixed": ("Lighthouse 灯塔", "Costs 费用", "Glass 玻璃"),
}
_FORMULAS = (
    r"E = m c^{2}",
    r"\frac{a+b}{2} \geq \sqrt{a b}",
    r"\sum_{k=1}^{n} k = \frac{n(n+1)}{2}",
    r"\mathbf{x}_{t+1} = A \mathbf{x}_t + \epsilon_t \tag{4}",
    r"h(t) = h_0 + \int_0^t v(s)\, ds",
)
_TABLES: tuple[Table, ...] = (
    [["Year", "Oil", "Wage"], ["1890", "210", "14.5"], ["1891", "234", "14.5"]],
    [["Light", "Height (m)"], ["North", "31"], ["South", "27"], ["Mole", "9"]],
    [["年份", "油", "工资"], ["1890", "二百一十", "14.5"], ["1891", "234", ""]],
    [["a", "b", "c", "d"], ["1", "2", "3", "4"], ["5", "6 < 7", "", "8 & 9"]],
)
LAYOUTS = ("single_column", "double_column", "three_column", "other_layout")
LANGUAGES = tuple(_SENTENCES)


def page(number: int) -> Parts:
    """The blocks of a made-up page in reading order, with header and page number."""
    language = LANGUAGES[number % 3]
    sentences = _SENTENCES[language]
    pick = lambda place: sentences[(number * 3 + place) % len(sentences)]  # noqa: E731
    parts = [Part("header", f"Lights and harbours {1880 + number}"), Part("title", _TITLES[language][number // 3 % 3])]
    parts.append(Part("text_block", f"{pick(0)} {pick(1)} {pick(2)}"))
    if number % 2 == 0:
        parts.append(Part("table", table_html(_TABLES[number // 2 % 4], head=number % 4 == 0)))
        parts.append(Part("table_caption", f"Table {number}: what it took"))
    parts.append(Part("text_block", f"{pick(3)} {pick(4)}"))
    if number % 3 != 1:
        parts.append(Part("equation_isolated", _FORMULAS[number % 5]))
    if number % 4 == 3:
        parts.append(Part("title", _TITLES[language][(number // 3 + 1) % 3]))
        parts.append(Part("equation_isolated", _FORMULAS[(number + 2) % 5]))
    parts.append(Part("text_block", pick(5)))
    if number % 5 == 2:
        parts.append(Part("reference", f"[{number}] Keeper, A. (1901). {pick(1)}"))
    if number % 6 == 5:
        parts.append(Part("code_txt", "for lamp in lamps:\n    light(lamp)"))
    parts += [Part("page_footnote", f"1 {pick(2)}"), Part("page_number", str(40 + number))]
    return parts


def table_html(rows: Table, *, head: bool = False) -> str:
    """A table in HTML; with `head` its first line spans two columns of a header."""
    cells = ["".join(f"<td>{cell.replace('&', '&amp;').replace('<', '&lt;')}</td>" for cell in row) for row in rows]
    lines = [f"<tr>{row}</tr>" for row in cells]
    if head:
        rest = "".join(f"<th>{cell}</th>" for cell in rows[0][2:])
        lines[0] = f'<thead><tr><th colspan="2">{rows[0][0]}</th>{rest}</tr></thead>'
    return f"<table>{''.join(lines)}</table>"


def table_rows(html: str) -> Table:
    """The cells of such a table."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [[_text(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def _text(cell: str) -> str:
    return cell.replace("&lt;", "<").replace("&amp;", "&")


Writer = Callable[[Parts], str]
_BESIDE = frozenset({"header", "page_footnote", "page_number", "table_caption"})


def markdown(parts: Parts) -> str:
    """A page as it is asked for, without what stands beside the text."""
    return "\n\n".join(_written(part) for part in parts if part.category not in _BESIDE)


def _written(part: Part) -> str:
    if part.category == "title":
        return f"# {part.text}"
    if part.category == "equation_isolated":
        return f"\\[ {part.text} \\]"
    return part.text


def _of(category: str, write: Callable[[str], str]) -> Writer:
    """The page with one kind of block written otherwise."""

    def written(parts: Parts) -> str:
        return "\n\n".join(
            write(part.text) if part.category == category else _written(part)
            for part in parts
            if part.category not in _BESIDE
        )

    return written


def _texts(change: Callable[[str], str]) -> Writer:
    return _of("text_block", change)


def _tables(write: Callable[[Table], str]) -> Writer:
    return _of("table", lambda html: write(table_rows(html)))


def _changed(change: Callable[[Parts], Parts]) -> Writer:
    return lambda parts: markdown(change([part for part in parts if part.category not in _BESIDE]))


def _pipes(rows: Table, *, edges: bool = True, rule: bool = True) -> str:
    lines = [" | ".join(row) for row in rows]
    if rule:
        lines.insert(1, " | ".join("---" for _ in rows[0]))
    return "\n".join(f"| {line} |" if edges else line for line in lines)


def tabular(rows: Table) -> str:
    """A table in LaTeX."""
    body = " \\\\\n".join(" & ".join(cell.replace("&", "\\&") for cell in row) for row in rows)
    return f"\\begin{{tabular}}{{{'l' * len(rows[0])}}}\n\\hline\n{body} \\\\\n\\hline\n\\end{{tabular}}"


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.。])\s*", text) if part]


def _as_json(parts: Parts) -> str:
    """A list of blocks. Its escaped spans would end the authors' evaluation with an error."""
    parts = [part._replace(text=part.text.replace(' colspan="2"', "")) for part in parts]
    named = [{"category": part.category, "text": part.text} for part in parts if part.category not in _BESIDE]
    return json.dumps(named, ensure_ascii=False)


def _as_html(parts: Parts) -> str:
    tags = {"title": "h2", "table": "div", "equation_isolated": "p"}
    body = "\n".join(
        f"<{(tag := tags.get(part.category, 'p'))}>{_written(part).lstrip('# ')}</{tag}>" for part in parts
    )
    return f"<html><body>\n{body}\n</body></html>"


def _misspelt(text: str) -> str:
    return text.replace("e", "c", 3).replace("潮", "朝").replace("the", "teh")


def _swapped(parts: Parts) -> Parts:
    return [parts[1], parts[0], *parts[2:]]


_CHANGES: dict[str, Writer] = {
    "exact": markdown,
    "with header and footnote": lambda parts: "\n\n".join(map(_written, parts)),
    "title bold": _of("title", lambda text: f"**{text}**"),
    "title third level": _of("title", lambda text: f"### {text}"),
    "title plain": _of("title", str),
    "title as section": _of("title", lambda text: f"\\section*{{{text}}}"),
    "no titles": _changed(lambda parts: [part for part in parts if part.category != "title"]),
    "misspelt": _texts(_misspelt),
    "upper case": _texts(str.upper),
    "no spaces": _texts(lambda text: text.replace(" ", "")),
    "wrapped lines": _texts(lambda text: re.sub(r"(.{30}\S*) ", r"\1\n", text)),
    "sentence a block": _texts(lambda text: "\n\n".join(_sentences(text))),
    "sentence a line": _texts(lambda text: "\n".join(_sentences(text))),
    "sentences as list": _texts(lambda text: "\n".join(f"- {one}" for one in _sentences(text))),
    "sentences reversed": _texts(lambda text: " ".join(_sentences(text)[::-1])),
    "first sentence alone": _texts(lambda text: _sentences(text)[0]),
    "half of each text": _texts(lambda text: text[: len(text) // 2]),
    "texts twice": _texts(lambda text: f"{text}\n\n{text}"),
    "texts in bold": _texts(lambda text: f"**{text}**"),
    "texts quoted": _texts(lambda text: f"> {text}"),
    "full-width signs": _texts(lambda text: text.replace(",", "，").replace(".", "。").replace("1", "１")),
    "entities": _texts(lambda text: text.replace("&", "&amp;").replace("%", "&#37;")),
    "tags in text": _texts(lambda text: text.replace("The", "<b>The</b>").replace("1", "1<sup>a</sup>")),
    "invented sentence": _texts(lambda text: f"{text} This sentence does not stand on the page at all."),
    "dollars": _texts(lambda text: f"{text} It cost $5 in May and $6 in June."),
    "formulas in words": _texts(lambda text: text.replace("$a_1 + \\alpha^2$", "a1 + α2")),
    "formulas by parentheses": _texts(lambda text: text.replace("$a_1 + \\alpha^2$", "\\(a_{1}+\\alpha^{2}\\)")),
    "dots": _texts(lambda text: f"{text}{'.' * 40}{'_' * 20}"),
    "translated": _texts(lambda text: "Der Hafen wurde nach dem Brand wieder aufgebaut."),
    "reversed": _changed(lambda parts: parts[::-1]),
    "first two swapped": _changed(_swapped),
    "last first": _changed(lambda parts: [parts[-1], *parts[:-1]]),
    "first block alone": _changed(lambda parts: parts[:1]),
    "without the last": _changed(lambda parts: parts[:-1]),
    "without the first text": _changed(lambda parts: [part for place, part in enumerate(parts) if place != 1]),
    "single line breaks": lambda parts: markdown(parts).replace("\n\n", "\n"),
    "one line": lambda parts: markdown(parts).replace("\n", " "),
    "three line breaks": lambda parts: markdown(parts).replace("\n\n", "\n\n\n"),
    "table with pipes": _tables(_pipes),
    "table with pipes, no edges": _tables(lambda rows: _pipes(rows, edges=False)),
    "table with pipes, no rule": _tables(lambda rows: _pipes(rows, rule=False)),
    "table with pipes twice": _tables(lambda rows: f"{_pipes(rows)}\n\n{_pipes(rows[::-1])}"),
    "table as tabular": _tables(tabular),
    "table as table of LaTeX": _tables(
        lambda rows: f"\\begin{{table}}\n\\caption{{Costs}}\n{tabular(rows)}\n\\end{{table}}"
    ),
    "table in lines": _of(
        "table", lambda html: html.replace("<tr>", "\n  <tr>\n    ").replace("</table>", "\n</table>")
    ),
    "table with header cells": _of("table", lambda html: html.replace("td>", "th>", 4)),
    "table with attributes": _of(
        "table",
        lambda html: html.replace("<table>", '<table border="1" class="data">').replace("<td>", '<td align="left">'),
    ),
    "table with body": _of(
        "table", lambda html: html.replace("<table>", "<table><tbody>").replace("</table>", "</tbody></table>")
    ),
    "table without ends of cells": _of("table", lambda html: html.replace("</td>", "")),
    "table in capitals": _of("table", lambda html: html.replace("td>", "TD>").replace("tr>", "TR>")),
    "table without the last row": _tables(lambda rows: table_html(rows[:-1])),
    "table with a row more": _tables(lambda rows: table_html([*rows, ["total"] * len(rows[0])])),
    "table with a column less": _tables(lambda rows: table_html([row[:-1] for row in rows])),
    "table turned": _tables(lambda rows: table_html([list(cells) for cells in zip(*rows[1:], strict=False)])),
    "table with other cells": _tables(lambda rows: table_html([["0" if cell else "" for cell in row] for row in rows])),
    "table as text": _tables(lambda rows: "\n".join(" ".join(row) for row in rows)),
    "table twice": _of("table", lambda html: f"{html}\n\n{html}"),
    "table cut": _of("table", lambda html: html[: len(html) * 2 // 3]),
    "table in a table": _of("table", lambda html: html.replace("<td>", "<td><table><tr><td>x</td></tr></table>", 1)),
    "table in a fence": _of("table", lambda html: f"```html\n{html}\n```"),
    "empty table": _of("table", lambda html: "<table></table>"),
    "no table": _changed(lambda parts: [part for part in parts if part.category != "table"]),
    "formula by dollars": _of("equation_isolated", lambda text: f"$$\n{text}\n$$"),
    "formula by dollars, one line": _of("equation_isolated", lambda text: f"$${text}$$"),
    "formula by one dollar": _of("equation_isolated", lambda text: f"${text}$"),
    "formula by parentheses": _of("equation_isolated", lambda text: f"\\({text}\\)"),
    "formula in an environment": _of(
        "equation_isolated", lambda text: f"\\begin{{equation}}\n{text}\n\\end{{equation}}"
    ),
    "formula aligned": _of("equation_isolated", lambda text: f"\\[ \\begin{{aligned}} {text} \\end{{aligned}} \\]"),
    "formula without signs": _of("equation_isolated", str),
    "formula in roman": _of("equation_isolated", lambda text: f"\\[ \\mathrm{{{text}}} \\]"),
    "formula numbered": _of("equation_isolated", lambda text: f"\\[ {text} \\tag{{7}} \\]"),
    "formula without braces": _of(
        "equation_isolated", lambda text: f"\\[ {text.replace('{', '').replace('}', '')} \\]"
    ),
    "formula in a fence": _of("equation_isolated", lambda text: f"```latex\n{text}\n```"),
    "other formula": _of("equation_isolated", lambda text: "\\[ x = 0 \\]"),
    "formula in the text": _of("equation_isolated", lambda text: f"where ${text}$ holds."),
    "formula with text": _of("equation_isolated", lambda text: f"\\[ {text} \\quad \\text{{for $n > 0$}} \\]"),
    "no formula": _changed(lambda parts: [part for part in parts if part.category != "equation_isolated"]),
    "code in a fence": _of("code_txt", lambda text: f"```python\n{text}\n```"),
    "picture": lambda parts: f"![A lighthouse](lighthouse.png)\n\n{markdown(parts)}",
    "comment": lambda parts: f"<!-- page 1 -->\n\n{markdown(parts)}",
    "page rule": lambda parts: f"{markdown(parts)}\n\n---\n\n",
    "as JSON": _as_json,
    "as HTML": _as_html,
    "as a LaTeX document": lambda parts: (
        "\\documentclass{article}\n\\begin{document}\n" + markdown(parts) + "\n\\end{document}"
    ),
    "cut at a third": lambda parts: markdown(parts)[: len(markdown(parts)) // 3],
    "cut at two thirds": lambda parts: markdown(parts)[: len(markdown(parts)) * 2 // 3],
    "loop": lambda parts: markdown(parts[:3]) + "\n\nand the next lamp" * 40,
    "loop of a sign": lambda parts: markdown(parts) + "\n\n" + "=" * 300,
    "another page": lambda parts: markdown(page(29)),
    "number alone": lambda parts: parts[-1].text,
}
_WRAPPERS: dict[str, Callable[[str], str]] = {
    "in a fence": lambda text: f"```markdown\n{text}\n```",
    "in a plain fence": lambda text: f"```\n{text}\n```",
    "after a sentence": lambda text: f"Here is the page in Markdown:\n\n{text}",
    "before a sentence": lambda text: f"{text}\n\nI hope that this helps.",
    "in a fence that is open": lambda text: f"```markdown\n{text}",
    "with Windows line ends": lambda text: text.replace("\n", "\r\n"),
}
_WITHOUT: dict[str, Writer] = {
    "refused": lambda parts: "I'm sorry, but I can't read this page.",
    "only blanks": lambda parts: " \n ",
    "one word": lambda parts: "harbour",
}


def page_replies(pages: int, per_style: int) -> Iterator[tuple[int, str, str]]:
    """The number of a page, a style, and a reply in it: each style for `per_style` of the pages."""
    styles = [*wrapped_styles(_CHANGES, _WRAPPERS, 2), *_WITHOUT.items()]
    for index, (style, write) in enumerate(styles):
        for turn in range(per_style):
            number = (index * 7 + turn * 5) % pages
            yield number, style, write(page(number))

"""The blocks of a page that a reply writes."""

import json

import pytest

from snellen.core.output import Empty, ParsedAnswer, Refused
from snellen.extract.pages.blocks import CUT_OFF, page_blocks, parse_page
from snellen.extract.pages.tables import latex_table

TABLE = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in page_blocks(text)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("# One\n\nTwo words\nin lines.", [("text", "One"), ("text", "Two words\nin lines.")]),
        ("One\nTwo", [("text", "One"), ("text", "Two")]),
        ("A\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\nB", [("text", "A"), ("table", TABLE), ("text", "B")]),
        ("A\n\na | b\n--|--\n1 | 2\nB", [("text", "A"), ("table", TABLE), ("text", "B")]),
        (f"A {TABLE} B", [("text", "A"), ("table", TABLE), ("text", "B")]),
        (f"```html\n{TABLE}\n```", [("table", TABLE)]),
        (f"A\n\n{TABLE[:40]}", [("text", "A"), ("table", TABLE[:40])]),
        (r"\begin{tabular}{l|r} a & b \\ \hline 1 & 2 \\ \end{tabular}", [("table", TABLE)]),
        ("Let\n$$\nx^2\n$$\nbe.", [("text", "Let"), ("formula", "x^2"), ("text", "be.")]),
        (r"\[ x \] \begin{align*} y \end{align*}", [("formula", "x"), ("formula", "y")]),
        ("A\n\n$x^2$\n\nwhere $x$ is", [("text", "A"), ("formula", "x^2"), ("text", "where $x$ is")]),
        ("A\n\n![a picture](x.png)\n\n<!-- note --> B", [("text", "A"), ("text", "B")]),
        ("<h2>One</h2><p>Two &amp; three</p><p>Four</p>", [("text", "One"), ("text", "Two & three"), ("text", "Four")]),
        ("---\nlanguage: en\nis_table: False\n---\nText", [("text", "Text")]),
        ("A\n\n```python\nx = 1\n\ny = 2\n```\n\nB", [("text", "A"), ("text", "x = 1\n\ny = 2"), ("text", "B")]),
        ("", []),
    ],
)
def test_blocks_of_a_page(written: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(written) == expected


def test_json_that_lists_blocks() -> None:
    listed = [
        {"bbox": [0, 0, 1, 1], "category": "Section-header", "text": "# One"},
        {"category": "Table", "text": TABLE},
        {"category": "Formula", "text": "$$x^2$$"},
        {"category": "Picture"},
    ]
    assert kinds(json.dumps(listed)) == [("text", "# One"), ("table", TABLE), ("formula", "x^2")]
    assert kinds(json.dumps({"natural_text": "# One\n\nTwo"})) == [("text", "One"), ("text", "Two")]
    assert kinds('[{"a": 1}]') == [("text", '[{"a": 1}]')]


def test_spans_of_a_tabular() -> None:
    source = r"\begin{tabular}{lll}\multicolumn{2}{c}{\textbf{x} \& y} & z \\ \multirow{2}{*}{1} & 2 & 3\end{tabular}"
    assert latex_table(source) == (
        '<table><tr><td colspan="2">x &amp; y</td><td>z</td></tr>'
        '<tr><td rowspan="2">1</td><td>2</td><td>3</td></tr></table>'
    )


@pytest.mark.parametrize(
    ("reply", "stop_reason", "value", "rule"),
    [
        ("# One", "stop", "# One", "whole reply"),
        ("<think>hm</think># One", "stop", "# One", "whole reply"),
        ("```markdown\n# One\n```", "stop", "# One", "code fence"),
        ("Here it is:\n\n```\n# One\n```\nI hope so.", "stop", "# One", "code fence"),
        ("# One\n\nTwo and", "length", "# One\n\nTwo and", CUT_OFF),
    ],
)
def test_page_of_a_reply(reply: str, stop_reason: str, value: str, rule: str) -> None:
    answer = parse_page(reply, stop_reason)
    assert isinstance(answer, ParsedAnswer)
    assert (answer.value, answer.rule) == (value, rule)


def test_replies_without_a_page() -> None:
    assert isinstance(parse_page(" \n"), Empty)
    assert isinstance(parse_page("I'm sorry, but I can't read this page."), Refused)

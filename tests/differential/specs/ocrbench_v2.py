"""OCRBench v2 by its authors' scripts, in the layout of VLMEvalKit's file: every task, and for each the ways
in which models answer it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from tests.differential.sets import Case, Oracle, Spec

_AUTHORS = Oracle(
    "ocrbench_v2", "Yuliang-Liu/MultimodalOCR", "794c36d6423cf1d5764081128bcaeb46b240def6", "MIT", "MultimodalOCR"
)
Write = Callable[[Any], str]


class Question(NamedTuple):
    """A made-up question of a task, with what its row says of it."""

    task: str
    question: str
    answers: Any
    compare: str = ""
    boxes: Any = None
    content: Any = None


_PLAIN: Mapping[str, Write] = {
    "exact": lambda a: a,
    "lower case": str.lower,
    "upper case": str.upper,
    "in a sentence": lambda a: f"The answer is {a}.",
    "in bold": lambda a: f"**{a}**",
    "misspelt": lambda a: a[:-2] + a[-1:] if len(a) > 2 else a + a,
    "cut": lambda a: a[: len(a) * 2 // 3],
    "two lines": lambda a: a.replace(" ", "\n"),
    "doubled blanks": lambda a: a.replace(" ", "  "),
    "without blanks": lambda a: a.replace(" ", ""),
    "thinks first": lambda a: f"<think>It may be {a[::-1]}.</think>{a}",
    "other": lambda a: "something else entirely",
    "refused": lambda a: "I'm sorry, I can't read this image.",
    "in a box": lambda a: rf"\boxed{{{a}}}",
    "quoted": lambda a: f'"{a}"',
    "twice": lambda a: f"{a} {a}",
    "blank": lambda a: " ",
}
_CHOICES: Mapping[str, Write] = {
    "letter": lambda a: a,
    "letter and dot": lambda a: f"{a}.",
    "letter in brackets": lambda a: f"({a})",
    "small letter": str.lower,
    "letter and text": lambda a: f"{a}. the second one",
    "option": lambda a: f"Option {a}",
    "another letter": lambda a: "D" if a != "D" else "A",
    "two letters": lambda a: f"{a} or C",
    "full-width letter": lambda a: chr(ord(a) + 0xFEE0),
}
_COUNTS: Mapping[str, Write] = {
    "number": lambda a: a,
    "number in a sentence": lambda a: f"There are {a} of them.",
    "number, one more": lambda a: str(int(a) + 1),
    "number, half": lambda a: str(int(a) // 2),
    "number, double": lambda a: str(2 * int(a)),
    "number in words": lambda a: "seven",
    "two numbers": lambda a: f"2 rows with {a} each",
    "minus": lambda a: f"-{a}",
    "fraction": lambda a: f"{a}.7",
    "zero": lambda a: "0",
    "leading zeros": lambda a: f"00{a}",
    "thousands": lambda a: f"{a},000",
}
_FORMULAS: Mapping[str, Write] = {
    "formula": lambda a: a,
    "formula with blanks": lambda a: " ".join(a),
    "formula between dollars": lambda a: f"$${a}$$",
    "formula in a fence": lambda a: f"```latex\n{a}\n```",
    "formula, left and right": lambda a: a.replace("(", r"\left(").replace(")", r"\right)"),
    "formula with text": lambda a: rf"\text{{{a}}}",
    "formula, another letter": lambda a: a.replace("x", "y"),
    "formula cut": lambda a: a[:-1],
}
_RECORDS: Mapping[str, Write] = {
    "record": lambda a: json.dumps(a, ensure_ascii=False),
    "record in a fence": lambda a: f"```json\n{json.dumps(a, ensure_ascii=False, indent=2)}\n```",
    "record in a fence of Python": lambda a: f"```python\n{a!r}\n```",
    "record in a plain fence": lambda a: f"```\n{json.dumps(a, ensure_ascii=False)}\n```",
    "record in Python": repr,
    "record after a sentence": lambda a: f"Here it is: {json.dumps(a, ensure_ascii=False)}",
    "record as lines": lambda a: "\n".join(f"{name}: {value}" for name, value in a.items()),
    "record as assignments": lambda a: "\n".join(f"{name} = '{value}'" for name, value in a.items()),
    "record, upper case": lambda a: json.dumps({name: str(value).upper() for name, value in a.items()}),
    "record, blanks in names": lambda a: json.dumps({f" {name} ": value for name, value in a.items()}),
    "record, a field less": lambda a: json.dumps(dict(list(a.items())[1:]), ensure_ascii=False),
    "record, an invented field": lambda a: json.dumps({**a, "tax": "0"}, ensure_ascii=False),
    "record, numbers": lambda a: json.dumps(dict.fromkeys(a, 12.5)),
    "record, null": lambda a: json.dumps(dict.fromkeys(a), ensure_ascii=False),
    "record, lists": lambda a: json.dumps({name: [value] for name, value in a.items()}, ensure_ascii=False),
    "record, nested": lambda a: json.dumps({"fields": a}, ensure_ascii=False),
    "record, a list of it": lambda a: json.dumps([a], ensure_ascii=False),
    "record, cut": lambda a: json.dumps(a, ensure_ascii=False)[:-6],
    "record, empty": lambda a: "{}",
    "record, a number": lambda a: "42",
    "record, names that are numbers": lambda a: repr(dict(enumerate(a.values()))),
    "record, trailing comma": lambda a: json.dumps(a, ensure_ascii=False)[:-1] + ",}",
}
_CHARTS: Mapping[str, Write] = {
    "chart": repr,
    "chart in a fence": lambda a: f"```python\n{a!r}\n```",
    "chart in two fences": lambda a: f"```\n{{}}\n```\nor\n```python\n{a!r}\n```",
    "chart, assigned": lambda a: f"data = {a!r}",
    "chart, comment": lambda a: repr(a).replace(", ", ", # then\n", 1),
    "chart and words": lambda a: f"{a!r} is what I see.",
    "chart as JSON": json.dumps,
    "chart, null": lambda a: json.dumps({**a, "none": None}),
    "chart after words": lambda a: f"I see {a!r}",
    "chart, another value": lambda a: repr({**a, next(iter(a)): "0"}),
    "chart, a row less": lambda a: repr(dict(list(a.items())[1:])),
    "chart, tags": lambda a: repr({**a, "<td>x</td>": "<b>1</b>"}),
    "chart, a list": lambda a: repr(list(a.items())),
    "chart, empty": lambda a: "{}",
    "chart, names that are numbers": lambda a: repr(dict(enumerate(a.values()))),
}
_TABLES: Mapping[str, Write] = {
    "table": lambda a: a,
    "table in a fence": lambda a: f"```html\n{a}\n```",
    "table after words": lambda a: f"The table:\n{a}\nThat is all.",
    "table in a page": lambda a: f"<html><head><title>t</title></head><body>{a}</body></html>",
    "table in a body with a class": lambda a: f'<body class="x">{a}</body>',
    "table with a border": lambda a: a.replace("<table>", '<table border="1">'),
    "table not closed": lambda a: a.replace("</table>", ""),
    "table not opened": lambda a: a.replace("<table>", ""),
    "table, heads": lambda a: a.replace("<td>", "<th>", 2).replace("</td>", "</th>", 2),
    "table with a body of its own": lambda a: a.replace("<table>", "<table><tbody>").replace(
        "</table>", "</tbody></table>"
    ),
    "table with lines": lambda a: a.replace("<tr>", "\n  <tr>\n").replace("<td>", " <td> "),
    "table, spans": lambda a: a.replace("<td>", '<td colspan="2">', 1),
    "table, cut": lambda a: a[: len(a) * 2 // 3],
    "table, twice": lambda a: a + a,
    "table, empty": lambda a: "<table></table>",
    "table, comment": lambda a: a.replace("<tr>", "<!-- row --><tr>"),
    "table, entities": lambda a: a.replace("a", "&amp;"),
    "table in a division": lambda a: f"<body><div>{a}</div></body>",
    "table, bold cells": lambda a: a.replace("<td>", "<td><b>").replace("</td>", "</b></td>"),
    "no table": lambda a: "There is no table here.",
}
_MARKDOWN: Mapping[str, Write] = {
    "strokes": lambda a: a,
    "strokes in a fence": lambda a: f"```markdown\n{a}\n```",
    "strokes without edges": lambda a: "\n".join(line.strip("|") for line in a.split("\n")),
    "strokes after words": lambda a: f"Here:\n\n{a}",
    "strokes, a row less": lambda a: "\n".join(a.split("\n")[:-1]),
    "strokes, header alone": lambda a: a.split("\n")[0],
    "strokes, no rule": lambda a: "\n".join(a.split("\n")[:1] + a.split("\n")[2:]),
    "strokes, empty cells": lambda a: a.replace("1", " "),
    "strokes, padded": lambda a: a.replace("|", "  |  "),
    "strokes as HTML": lambda a: "<table><tr><td>x</td></tr></table>",
    "strokes, a rule between": lambda a: a.replace("\n", "\n|---|\n"),
}
_PAGES: Mapping[str, Write] = {
    "page": lambda a: a,
    "page, no headings": lambda a: a.replace("#", ""),
    "page, deeper headings": lambda a: a.replace("# ", "### "),
    "page, other words": lambda a: "\n".join("#x" if line.startswith("#") else "words" for line in a.split("\n")),
    "page, lines joined": lambda a: a.replace("\n\n", " "),
    "page, blank lines more": lambda a: a.replace("\n", "\n\n\n"),
    "page, first half": lambda a: a[: len(a) // 2],
    "page, heading twice": lambda a: f"{a}\n{a}",
    "page in a fence": lambda a: f"```markdown\n{a}\n```",
    "page, bold": lambda a: a.replace("\n", "\n**") + "**",
    "page, special tokens": lambda a: f"<bos>{a}<eos>",
    "page, empty heading": lambda a: f"#\n{a}",
    "page, a heading called TITLE": lambda a: f"text\n#TITLE\n{a}\n#ROOT\nmore",
    "page, a line like a heading": lambda a: a.replace("# ", "text\n# ", 1) + "\n#text\nbelow",
}
_BOXES: Mapping[str, Write] = {
    "box": lambda a: f"({', '.join(map(str, a))})",
    "box in square brackets": lambda a: str(list(a)),
    "box after another": lambda a: f"not (1, 2, 3, 4) but {tuple(a)}",
    "box and a word": lambda a: f"The box is {tuple(a)}.",
    "box in JSON": lambda a: json.dumps([{"bbox_2d": list(a), "label": "x"}]),
    "box in fractions": lambda a: str([one / 1000 for one in a]),
    "box in pixels": lambda a: str([one * 2 for one in a]),
    "box, half": lambda a: str([a[0], a[1], (a[0] + a[2]) // 2, a[3]]),
    "box, turned": lambda a: str([a[2], a[3], a[0], a[1]]),
    "box, without area": lambda a: str([a[0], a[1], a[0], a[1]]),
    "box, minus": lambda a: str([-1, *a[1:]]),
    "box, two points": lambda a: f"[[{a[0]}, {a[1]}], [{a[2]}, {a[3]}]]",
    "box, repeated": lambda a: f"{tuple(a)} (5, 6, 70, 80) {tuple(a)}",
    "box, no brackets": lambda a: ", ".join(map(str, a)),
    "box, five numbers": lambda a: str([*a, 1]),
    "box, blanks": lambda a: f"[ {a[0]} ,{a[1]} ,\n{a[2]}, {a[3]} ]",
}


def _position(answer: Any, box: Any) -> str:
    return json.dumps({"answer": answer, "bbox": box})


_POSITIONS: Mapping[str, Write] = {
    "position": lambda a: _position(a[0], str(list(a[1]))),
    "position, a list": lambda a: _position(a[0], list(a[1])),
    "position in a fence": lambda a: f"```json\n{_position(a[0], list(a[1]))}\n```",
    "position, a tuple": lambda a: _position(a[0], str(tuple(a[1]))),
    "position, fractions": lambda a: _position(a[0], [one / 1000 for one in a[1]]),
    "position, decimals": lambda a: _position(a[0], [one + 0.9 for one in a[1]]),
    "position, texts": lambda a: _position(a[0], list(map(str, a[1]))),
    "position, no box": lambda a: json.dumps({"answer": a[0]}),
    "position, no answer": lambda a: json.dumps({"bbox": list(a[1])}),
    "position, three numbers": lambda a: _position(a[0], list(a[1])[:3]),
    "position, five numbers": lambda a: _position(a[0], [*a[1], 9]),
    "position, turned": lambda a: _position(a[0], [a[1][2], a[1][3], a[1][0], a[1][1]]),
    "position in Python": lambda a: repr({"answer": a[0], "bbox": list(a[1])}),
    "position in words": lambda a: f"{a[0]} at {a[1]}",
    "position as lines": lambda a: f"answer: {a[0]}\nbbox: {list(a[1])}",
    "position, another answer": lambda a: _position("nothing", list(a[1])),
}


def _spots(a: Any) -> list[tuple[Any, ...]]:
    return [(box[0], box[1], box[2], box[5], text) for box, text in zip(*a, strict=True)]


def _as_tuples(spots: Sequence[Sequence[Any]]) -> str:
    return "[" + ", ".join("(" + ", ".join(map(str, one)) + ")" for one in spots) + "]"


_SPOTTINGS: Mapping[str, Write] = {
    "spots": lambda a: repr(_spots(a)),
    "spots, bare words": lambda a: _as_tuples(_spots(a)),
    "spots as JSON": lambda a: json.dumps(_spots(a), ensure_ascii=False),
    "spots, lower case": lambda a: repr(_spots(a)).lower(),
    "spots, reversed": lambda a: repr(_spots(a)[::-1]),
    "spots, first alone": lambda a: repr(_spots(a)[:1]),
    "spots, twice": lambda a: repr(_spots(a) * 2),
    "spots, other texts twice": lambda a: repr([(*one[:4], "zz") for one in _spots(a)] + _spots(a)),
    "spots, shifted": lambda a: repr([(x + 9, y, r + 9, b, t) for x, y, r, b, t in _spots(a)]),
    "spots, far away": lambda a: repr([(x + 200, y, r + 200, b, t) for x, y, r, b, t in _spots(a)]),
    "spots, pixels": lambda a: repr([(9 * x, 9 * y, 9 * r, 9 * b, t) for x, y, r, b, t in _spots(a)]),
    "spots, fractions": lambda a: repr([(x / 999, y / 999, r / 999, b / 999, t) for x, y, r, b, t in _spots(a)]),
    "spots, numbers as texts": lambda a: repr([(*map(str, one[:4]), one[4]) for one in _spots(a)]),
    "spots, turned": lambda a: repr([(r, b, x, y, t) for x, y, r, b, t in _spots(a)]),
    "spots, without signs at the edges": lambda a: repr([(*one[:4], one[4].strip("!?.:,\"'()")) for one in _spots(a)]),
    "spots, signs added": lambda a: repr([(*one[:4], one[4] + "!") for one in _spots(a)]),
    "spots in a fence": lambda a: f"```python\n{_spots(a)!r}\n```",
    "spots after words": lambda a: f"I found: {_spots(a)!r}",
    "spots, no texts": lambda a: repr([one[:4] for one in _spots(a)]),
    "spots, six items": lambda a: repr([(*one, "more") for one in _spots(a)]),
    "spots as lines": lambda a: "\n".join(_as_tuples([one])[1:-1] for one in _spots(a)),
    "spots, quoted": lambda a: _as_tuples([(*one[:4], f'"{one[4]}"') for one in _spots(a)]),
    "spots, two lines": lambda a: repr([(*one[:4], f"{one[4]}\n") for one in _spots(a)]),
    "spots, one large box": lambda a: "[(0, 0, 1000, 1000, 'OPEN')]",
}
_LETTERS: Mapping[str, Write] = {
    "letters": lambda a: a,
    "letters, commas": ", ".join,
    "letters, Chinese commas": "、".join,
    "letters, and": "和".join,
    "letters, dashes": "-".join,
    "letters in a sentence": lambda a: f"手写的答案是 {a}。",
    "letters, small": str.lower,
    "letters, first": lambda a: a[0],
    "letters, stops": ". ".join,
    "letters, none": lambda a: "看不清",
}
_PARAGRAPHS: Mapping[str, Write] = {
    **_PLAIN,
    "synonyms": lambda a: a.replace("shop", "store").replace("large", "big").replace("purchase", "buy"),
    "other endings": lambda a: a.replace("shop", "shops").replace("begin", "began"),
    "words reversed": lambda a: " ".join(a.split()[::-1]),
    "half of the words": lambda a: " ".join(a.split()[::2]),
    "three words": lambda a: " ".join(a.split()[:3]),
    "Chinese and English": lambda a: f"{a} 这是一家商店",
    "signs reversed": lambda a: a[::-1],
    "first word, often": lambda a: " ".join(a.split()[:1] * 9),
}
_PAGE_GOLD = (
    "# Opening hours\n\nThe shop is open all day.\n\n## On Sundays\n\nClosed.\n- ring the bell\n# Prices\nTea 2"
)
_PAGE_TWO = "Dear reader\n\nthis has no heading\n\\begin{table}\n1 & 2\n\\end{table}\nand ends"
_TABLE = (
    "<table><tr><td>tea</td><td>2.50</td></tr><tr><td>cake</td><td>3.10</td></tr>"
    "<tr><td>a jar</td><td>4</td></tr></table>"
)
_STROKES = "| week | date | result |\n| --- | --- | --- |\n| 1 | august 5 | l 23 - 31 |\n| 2 | august 12 | w 13 - 14 |"
_SIGN = (
    (100, 100, 300, 100, 300, 160, 100, 160),
    (100, 200, 220, 200, 220, 250, 100, 250),
    (500, 500, 700, 500, 700, 580, 500, 580),
)
_FORM = (
    "Output the normalized coordinates of the left-top and right-bottom corners of the bounding box. "
    "Your answer should be in the following format: (x1, y1, x2, y2)"
)


def _questions() -> Iterator[tuple[Question, Any, Mapping[str, Write]]]:
    """Questions of all tasks with what a right reply says and the ways of saying it."""
    long = "the quick brown fox jumps over the lazy dog"
    for task in (
        "text recognition en",
        "math QA en",
        "document classification en",
        "cognition VQA en",
        "diagram QA en",
        "reasoning VQA en",
        "science QA en",
        "APP agent en",
        "ASCII art classification en",
    ):
        yield Question(task, "What is written here?", ["CENTRE", "the centre"]), "CENTRE", _PLAIN
        yield Question(task, "Which one? A. x B. y", ["B"], "multiple choice"), "B", _CHOICES
    yield Question("text recognition en", "What does the line say?", [long, "nothing"]), long, _PLAIN
    yield Question("text recognition en", "Exactly?", ["PaRiS 24h"], "case sensitive"), "PaRiS 24h", _PLAIN
    yield Question("cognition VQA en", "Exactly, and long?", [long.title()], "case sensitive"), long.title(), _PLAIN
    yield Question("cognition VQA en", "How much?", [12, 12.5]), "12", _PLAIN
    for task in ("cognition VQA cn", "reasoning VQA cn"):
        yield Question(task, "写的是什么?", ["北京 大学", "北大"]), "北京 大学", _PLAIN
        yield Question(task, "有哪些?", ["苹果,梨,桃子,香蕉,葡萄"]), "苹果,梨,桃子,香蕉,葡萄", _PLAIN
        yield Question(task, "哪一个? A. 甲 B. 乙", ["A"], "multiple choice"), "A", _CHOICES
        yield Question(task, "是什么?", ["Xiamen Air"], "case sensitive"), "Xiamen Air", _PLAIN
    yield Question("text counting en", "How many words?", ["14"], "exact match"), "14", _COUNTS
    yield Question("text counting en", "How often is there an e?", ["14", "15"], "regression"), "14", _COUNTS
    yield Question("text counting en", "How often is there a z?", ["3"], "regression"), "3", _COUNTS
    formula = r"f(x)=\frac{a}{x}+x^{2}"
    yield Question("formula recognition en", "Write it.", [formula, "f(x)"]), formula, _FORMULAS
    yield Question("formula recognition cn", "写出公式", [r"x=\text{当}y>0"]), r"x=\text{当}y>0", _FORMULAS
    yield Question("formula recognition cn", "写出公式", [formula]), formula, _FORMULAS
    receipt = {"company": ["OLD TOWN SDN BHD"], "date": ["27/09/2024", "2024-09-27"], "total": ["30.00"]}
    said = {"company": "OLD TOWN SDN BHD", "date": "2024-09-27", "total": "30.00"}
    yield Question("key information extraction en", "Fields?", [receipt]), said, _RECORDS
    yield Question("key information extraction en", "Fields?", [json.dumps(receipt)]), said, _RECORDS
    one = {"Name": ["Ann Lee"], "Phone": ["555 1234"]}
    yield Question("key information mapping en", "Fields?", [one]), {"Name": "Ann Lee", "Phone": "555 1234"}, _RECORDS
    card = {"姓名": "王 小明", "单位": ["北京大学", "北大"]}
    yield Question("key information extraction cn", "提取", [repr(card)]), {"姓名": "王小明", "单位": "北大"}, _RECORDS
    chart = {"2019": "12", "2020": "15.5", "2021": "9"}
    yield Question("chart parsing en", "Convert it to a dictionary.", [chart]), chart, _CHARTS
    nested = {"Sales": {"2019": 12, "2020": 15}, "Costs": {"2019": 7, "2020": 8}}
    yield Question("chart parsing en", "Convert it to a dictionary.", [nested]), nested, _CHARTS
    yield Question("table parsing en", "Convert the table to HTML.", [_TABLE]), _TABLE, _TABLES
    yield Question("table parsing cn", "转换为表格", [_TABLE]), _TABLE, _TABLES
    body = f"<body>{_TABLE}</body>"
    yield Question("table parsing en", "In html format", [body]), _TABLE, _TABLES
    yield Question("table parsing en", "Convert the table to Markdown.", [_STROKES]), _STROKES, _MARKDOWN
    for task in ("document parsing en", "document parsing cn"):
        yield Question(task, "Convert it to Markdown.", [_PAGE_GOLD]), _PAGE_GOLD, _PAGES
        yield Question(task, "Convert it to Markdown.", [_PAGE_TWO]), _PAGE_TWO, _PAGES
    yield (
        Question("text grounding en", f"Where is the text 'OPEN'? {_FORM}", [100, 200, 400, 300]),
        (100, 200, 400, 300),
        _BOXES,
    )
    yield Question("text grounding en", f"Where is the text '24'? {_FORM}", [0, 0, 999, 35]), (0, 0, 999, 35), _BOXES
    yield (
        Question("VQA with position en", "What is the price?", ["$ 4.20", "4.20"], boxes=[10, 20, 310, 90]),
        ("$ 4.20", (12, 20, 310, 88)),
        _POSITIONS,
    )
    for texts in (("OPEN", "24h!", "(tea"), ("###", "OPEN", "it's"), ("Öl", "a,b", '"to go"')):
        yield (
            Question("text spotting en", "Find all.", ["x"], boxes=list(map(list, _SIGN)), content=list(texts)),
            (_SIGN, texts),
            _SPOTTINGS,
        )
    yield Question("handwritten answer extraction cn", "填空题的答案?", ["ABD"]), "ABD", _LETTERS
    yield Question("handwritten answer extraction cn", "选择题的答案?", ["C"]), "C", _LETTERS
    english = "The large shop will begin to sell tea, and people purchase it on the street."
    chinese = "这家商店从早上开始卖茶,人们在街上购买。"
    for task in ("fine-grained text recognition en", "full-page OCR en"):
        yield Question(task, "Read it.", [english]), english, _PARAGRAPHS
    yield Question("full-page OCR cn", "读", [chinese]), chinese, _PARAGRAPHS
    yield Question("text translation cn", "翻译", [chinese]), chinese, _PARAGRAPHS
    yield Question("handwritten answer extraction cn", "简答题的答案?", [chinese]), chinese, _PARAGRAPHS


def _cells(question: Question) -> Mapping[str, Any]:
    return {
        "question": question.question,
        "answer": repr(question.answers),
        "category": question.task,
        "eval": question.compare or "without eval",
        "bbox": repr(question.boxes) if question.boxes else "without bbox",
        "content": repr(question.content) if question.content else "without content",
        "width": "800",
        "height": "600",
    }


def _cases() -> Iterator[Case]:
    ids = count()
    for question, said, styles in _questions():
        for style, write in styles.items():
            yield Case(str(next(ids)), _cells(question), style, write(said))


_SET = Spec(
    name="ocrbench-v2.authors",
    benchmark="ocrbench-v2",
    rule="official",
    oracle=_AUTHORS,
    path="OCRBench_v2/eval_scripts/eval.py, process_predictions; get_score.py",
    cases=_cases,
    metrics={
        "mean_of_languages": "mean",
        "language/English": "en",
        "language/Chinese": "cn",
        **{
            f"ability/{language} {ability}": f"{short}/{ability.replace(' ', '_')}"
            for language, short in (("English", "en"), ("Chinese", "cn"))
            for ability in (
                "text recognition",
                "relationship extraction",
                "element parsing",
                "visual text understanding",
                "knowledge reasoning",
            )
        },
        "ability/English text detection": "en/text_detection",
        "ability/English text spotting": "en/text_spotting",
        "ability/English mathematical calculation": "en/mathematical_calculation",
    },
)
SPECS = (_SET,)

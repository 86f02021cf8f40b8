"""Benchmarks about documents: an extractor's words are recorded, and both sides compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential.sets import Case, Spec
from tests.differential.specs.open_answers import VLMEVALKIT_OPEN, repository
from tests.differential.styles_open import BASES, FIRST, Base, Open, open_question, reply_to

MMLONGBENCH = repository("mayubo2333/MMLongBench-Doc", "d73f0dc0be7e0a2ff6a403d5fe65fcd96461f384", "Apache-2.0")
LONGDOCURL = repository("dengc2023/LongDocURL", "3807c0e5994b09a8c10f2dc26be58de07165b824", "none stated")
FORMATS: dict[str, tuple[Open, ...]] = {
    "Str": (
        open_question("What do they call it?", "Less well-off|less well off", "Well-off|worse"),
        open_question("Which page shows the map?", "Page 12|12", "page 13|page  12"),
        open_question("Where is it kept?", "https://example.org/data|example.org", "http://x.org|no"),
        open_question("Which script draws it?", "draw.py|draw", "drow.py|plot.py"),
        open_question("Who signed it?", "John Smith (CEO)|John Smith", "Jon Smith|Mary"),
        open_question("When does it open?", "9:30 a.m.|9:30", "9:30 am|10 a.m."),
        open_question("On which day?", "2016-06-08|June 8, 2016", "2016-06|2016-06-09"),
        open_question("Whom to write to?", "info@example.org|info", "Info@example.org|x@y.org"),
        open_question("Which number to call?", "555-1234|5551234", "555-1235|555 1234"),
    ),
    "Int": (
        open_question("How many chapters are there?", "12|twelve", "13|12.7"),
        open_question("How many people answered?", "1250|1,250", "1251|125"),
    ),
    "Float": (
        open_question("What share said yes?", "42.5%|42.5", "0.425|43.9%"),
        open_question("What was the revenue?", "$3.14|3.14", "3.15|-3.14"),
        open_question("What is the ratio?", "0.28|28%", "0.3|0.2801"),
    ),
    "List": (
        open_question("Which years?", "['2015', '2016']|['2016', '2015']", "['2015']|[2015, 2016]"),
        open_question("Which fruits?", "['Apple', 'Pear']|['pear', 'apple']", "['Aple', 'Pear']|['Apple', 'Plum']"),
    ),
    "None": (
        open_question("What is the name of her dog?", "Not answerable|not answerable", "Rex|It is not in the document"),
    ),
}
"""Questions by the type of their answer."""
FORMAT_OF = {one.question: name for name, many in FORMATS.items() for one in many}
QUESTIONS = tuple(one for many in FORMATS.values() for one in many)

_MARKS: dict[str, Base] = {
    "no format": lambda a, b: f"Extracted answer: {a}",
    "no mark": lambda a, b: a,
    "mark twice": lambda a, b: f"Extracted answer: {a}\nExtracted answer: {b}\nAnswer format: S",
    "small mark": lambda a, b: f"extracted answer: {a}\nAnswer format: String",
    "on one line": lambda a, b: f"Extracted answer: {a} Answer format: String",
    "line below": lambda a, b: f"Extracted answer:\n{a}\nAnswer format: String",
    "bold mark": lambda a, b: f"**Extracted answer:** {a}\nAnswer format: String",
    "code behind the mark": lambda a, b: f"Extracted answer: `{a}`\nAnswer format: String",
    "prose before": lambda a, b: f"It says so.\nExtracted answer: {a}\nAnswer format: String",
    "nothing": lambda a, b: "Extracted answer:\nAnswer format: String",
    "Fail to answer": lambda a, b: "Extracted answer: Fail to answer\nAnswer format: String",
    "not in the document": lambda a, b: "Extracted answer: It is not in the document\nAnswer format: String",
    "cannot be answered": lambda a, b: "Extracted answer: The question cannot be answered.\nAnswer format: None",
}
"""How an extractor writes its answer down, beside the form that it was asked for."""


_NOTHING = {"nothing", "no mark", "small mark"}
"""Of these VLMEvalKit keeps an empty cell, at which its DUDE ends with an error."""


def words_of_extractor(ends_at_nothing: bool = False) -> Iterator[tuple[str, Base]]:
    for name, write in BASES.items():
        yield name, lambda a, b, w=write: f"Extracted answer: {w(a, b)}\nAnswer format: String"
    for name, write in _MARKS.items():
        if not (ends_at_nothing and name in _NOTHING):
            yield name, write


def document_cases(
    cells: Callable[[Open, int], Mapping[str, Any]],
    questions: tuple[Open, ...] = QUESTIONS,
    *,
    ends_at_nothing: bool = False,
) -> Callable[[], Iterator[Case]]:
    """Replies in prose, each with what an extractor made of it."""

    def cases() -> Iterator[Case]:
        number = FIRST
        for turn in range(3):
            for position, (style, write) in enumerate(words_of_extractor(ends_at_nothing)):
                question = questions[(position + turn * 5) % len(questions)]
                said = reply_to(question, write, position + turn)
                reply = f"I looked at all the pages of it. {question.wrong[0]} comes to mind."
                yield Case(str(number), cells(question, number), style, reply, said)
                number += 1

    return cases


def _long(question: Open, number: int) -> Mapping[str, Any]:
    kind = FORMAT_OF[question.question]
    pages = "[]" if kind == "None" else "[5]" if number % 2 else "[3, 4]"
    return {
        "question": question.question,
        "answer": question.golds[0],
        "answer_format": kind,
        "evidence_pages": pages,
        "evidence_sources": "[]" if kind == "None" else "['Chart']" if number % 3 else "['Table']",
        "doc_id": f"document {number % 7}",
        "doc_type": "Report",
    }


_URL_FORMATS: dict[str, tuple[Open, ...]] = {
    "String": (
        *FORMATS["Str"],
        open_question("Which unit of length?", "12 kilometers|12 km", "12 miles|12"),
        open_question("Which system?", "Metric System|metric system", "metric|System"),
        open_question("What did it cost?", "£4.5 million|4.5 million", "$4.5 million|4.5"),
    ),
    "Integer": (
        *FORMATS["Int"],
        open_question("How many minutes?", "45 minutes|45", "45.0|forty-five minutes"),
        open_question("How heavy is it?", "80 kg|80kg", "80 mm|80 g"),
        open_question("How many people?", "3 million|3", "3 thousand|3,000,000"),
    ),
    "Float": (*FORMATS["Float"], open_question("How far is it?", "3.5 miles|3.5", "3.54 m|3.6")),
    "List": (
        *FORMATS["List"],
        open_question("Which pages?", "[3, 7]|['3', '7']", "[7, 3]|[3]"),
        open_question(
            "Which sections?", "['Merger Plan', 'Annex']|['Merger Plan']", "['Merger']|['Annex', 'Plan', 'X', 'Y']"
        ),
        open_question(
            "Which boxes?", "[{'page': 3, 'name': 'Box A'}]|['3-Box A']", "['Box A']|{'page': 3, 'name': 'Box A'}"
        ),
    ),
    "None": FORMATS["None"],
}
_URL_FORMAT_OF = {one.question: name for name, many in _URL_FORMATS.items() for one in many}
_URL_QUESTIONS = tuple(one for many in _URL_FORMATS.values() for one in many)
_ENDS = "</concise_answer><answer_format>List</answer_format>"
_TAGS: dict[str, Callable[[str], str]] = {
    "tags": lambda a: f"Extracted answer: <concise_answer>{a}</concise_answer>\n<answer_format>String</answer_format>",
    "tags, no format": lambda a: f"Extracted answer: <concise_answer>{a}</concise_answer>",
    "tags, two answers": lambda a: f"<concise_answer>{a}</concise_answer><concise_answer>zz{_ENDS}",
    "tags, two lines": lambda a: f"<concise_answer>\n{a}\n{_ENDS}",
    "tags, quoted": lambda a: f"<concise_answer>'{a}'{_ENDS}",
    "tags, in a list": lambda a: f"<concise_answer>[{a!r}]{_ENDS}",
    "tags, in a list with more": lambda a: f"<concise_answer>[{a!r}, 'x', 3]{_ENDS}",
    "tags, not closed": lambda a: f"<concise_answer>{a}<answer_format>String</answer_format>",
    "no tags": lambda a: a,
}
"""How an extractor puts what it copied between the tags that the authors ask for."""


def _url_cases() -> Iterator[Case]:
    """Every way to say an answer between tags, and of the ways of the tags every one with each question."""
    number = FIRST
    for turn in range(3):
        for position, (style, write) in enumerate(BASES.items()):
            question = _URL_QUESTIONS[(position + turn * 7) % len(_URL_QUESTIONS)]
            said = _TAGS["tags"](reply_to(question, write, position + turn))
            yield Case(str(number), _url(question, number), style, f"The pages say {question.wrong[0]}.", said)
            number += 1
    for question in _URL_QUESTIONS:
        for style, tag in _TAGS.items():
            for answer in (*question.golds, *question.wrong):
                yield Case(str(number), _url(question, number), style, f"I read {question.wrong[0]}.", tag(answer))
                number += 1


def _url(question: Open, number: int) -> Mapping[str, Any]:
    kind = _URL_FORMAT_OF[question.question]
    return {
        "question": question.question,
        "answer": question.golds[0],
        "answer_format": kind,
        "evidence_pages": "[]" if kind == "None" else "[5]" if number % 2 else "[3, 4]",
        "evidence_sources": "[]" if kind == "None" else "['Table']" if number % 3 else "['Layout', 'Text']",
        "doc_no": str(4000000 + number % 7),
        "task_tag": ("Understanding", "Reasoning", "Locating")[number % 3],
    }


def _slide(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": question.question, "answer": question.golds[0]}


def _dude(question: Open, number: int) -> Mapping[str, Any]:
    return {"question": question.question, "answer": question.golds[0], "doc_id": f"document {number % 7}"}


_SLIDES = (
    *FORMATS["Str"][:2],
    *FORMATS["Int"],
    *FORMATS["Float"],
    *FORMATS["None"],
    open_question("What stands in the title?", "Road\nClosed\nAhead|Road Closed Ahead", "RoadClosedAhead|road closed"),
    open_question("which city is shown?", "the city of Paris|Paris", "Lyon|Pari"),
)


def _kept(
    name: str,
    dataset: str,
    path: str,
    cases: Callable[[], Iterator[Case]],
    column: str,
    value: str = "avg_score",
    **metrics: str,
) -> Spec:
    """A set whose extraction VLMEvalKit finds where its own run would have kept it."""
    return Spec(
        name=f"{name}.vlmevalkit",
        benchmark=name,
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path=f"vlmeval/dataset/{path}",
        cases=cases,
        arguments={
            "how": "extracted",
            "dataset": dataset,
            "said": "pred",
            "reader": "mmlongbenchdoc:MMLongBench_auxeval:pred",
            "column": column,
            "table": ["category", value],
            "scale": 100,
        },
        metrics=metrics,
        headline=next(iter(metrics.values())),
        role="extractor",
    )


SPECS = (
    _kept(
        "mmlongbench-doc",
        "MMLongBench_DOC",
        "mmlongbenchdoc.py, MMLongBench_acc",
        document_cases(_long),
        "score",
        f1="overall_f1",
        accuracy="overall_acc",
    ),
    _kept(
        "dude",
        "DUDE",
        "dude.py, DUDE_acc",
        document_cases(_dude, FORMATS["Str"] + _SLIDES, ends_at_nothing=True),
        "score",
        anls="anls",
    ),
    _kept(
        "slidevqa",
        "SLIDEVQA",
        "slidevqa.py, SlideVQA_acc",
        document_cases(_slide, _SLIDES),
        "f1",
        "avg",
        f1="F1",
        exact_match="EM",
        anls="anls",
    ),
    *(
        Spec(
            name=f"longdocurl.{name}",
            benchmark="longdocurl",
            rule=rule,
            oracle=oracle,
            path=path,
            cases=_url_cases,
            arguments={"scorer": scorer},
            metrics={"accuracy": "mean"},
            role="extractor",
        )
        for name, rule, oracle, path, scorer in (
            ("authors", "official", LONGDOCURL, "utils/utils_score_v3.py, eval_score", "longdocurl"),
            (
                "vlmevalkit",
                "vlmevalkit",
                repository(VLMEVALKIT_OPEN.repository, VLMEVALKIT_OPEN.commit, VLMEVALKIT_OPEN.licence),
                "vlmeval/dataset/utils/longdocurl.py, eval_score",
                "longdocurl_vlmevalkit",
            ),
        )
    ),
    Spec(
        name="mmlongbench-doc.authors",
        benchmark="mmlongbench-doc",
        rule="official",
        oracle=MMLONGBENCH,
        path="eval/eval_score.py, eval_score",
        cases=document_cases(_long),
        arguments={"scorer": "mmlongbench"},
        metrics={"f1": "f1", "accuracy": "acc"},
        role="extractor",
    ),
)

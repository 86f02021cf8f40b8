"""ChartQAPro: questions about charts, dashboards and infographics of many sources (Masry et al. 2025,
https://arxiv.org/abs/2504.05506).

One example row (made up): index 0, question "['How many shops were there?', 'And in 2021?']", answer "['12',
'14']", question_type "Conversational" (Factoid, Multi Choice, Fact Checking, Hypothetical), year "['NO',
'YES']", paragraph "" or a text beside the chart, image <base64>. On the hub: Question, Answer, Question Type,
Year, Paragraph.

Oddities: 1,948 questions. Of a conversation the last question is asked, behind the others and their
answers; its answer is the last. `year` says of each answer whether it is a year, which has to be met as text.
An answer may be a list, whose items count alike. The answer to what the chart does not tell is
"unanswerable".

A number is right within 5 %, other words score ANLS; years, and the answers of Fact Checking and Multi
Choice, have to be equal, as the paper says (section 4). Our rule reads the reply first. `--rule official` is
the authors' script, which forgets the two kinds of questions and scores them by ANLS, too; VLMEvalKit has the
same script. Each number is the mean over questions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import first_cell
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.core import lazy_re as re
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal
from snellen.core.sample import Row, Sample
from snellen.data.columns import parse_list
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.edit_distance import THRESHOLD, similarity

TYPE = "question_type"
_YEARS = "years"
"""Kept with a sample: for each answer YES or NO, whether it is a year."""
_EXACT = ("Fact Checking", "Multi Choice")
_LEEWAY = 0.05
_BARE_LIST = re.compile(r"^\[(.*)\]$")
_BARE_ITEM = re.compile(r"(?<!['\w])(\w[^,]*?)(?!['\w])")
_FORMS = {
    "Multi Choice": "Answer with the letter of the option alone",
    "Fact Checking": "Answer with true or false alone",
}
_CLOSING = """If the image does not tell, answer "unanswerable". Write several answers like this: ['one', 'two']."""
_FORM = "Answer with a single word, number or phrase, without units that the chart does not show"


def _sample(row: Row, options: Options) -> Sample:
    cells = row.cells
    kind = first_cell(cells, TYPE, "question type")
    questions, answers = _items(first_cell(cells, "question")), _items(first_cell(cells, "answer"))
    earlier = (
        f"Question: {question}\nAnswer: {answer}" for question, answer in zip(questions[:-1], answers, strict=False)
    )
    closing = f"{_FORMS.get(kind, _FORM)}. {_CLOSING}"
    lines = (first_cell(cells, "paragraph"), *earlier, *questions[-1:], closing)
    years = _items(first_cell(cells, "year"))
    sample = build_sample(
        row,
        question="\n".join(line for line in lines if line),
        gold=answers[-1] if answers else "",
        groups={TYPE: kind},
    )
    return structs.replace(sample, metadata={_YEARS: json.dumps(years[-1:] if kind == "Conversational" else years)})


def _items(cell: str) -> list[str]:
    items = parse_list(cell)
    return [cell] if items is None else [str(item) for item in items]


def relaxed_mean(answer: str, sample: Sample) -> float:
    """The mean over the items of the gold answer; years and the kinds of `_EXACT` have to be equal."""
    return _score(answer, sample, exact=sample.groups.get(TYPE) in _EXACT)


def relaxed_mean_authors(answer: str, sample: Sample) -> float:
    return _score(answer, sample, exact=False)


def _score(answer: str, sample: Sample, *, exact: bool) -> float:
    gold, said = (text.strip(".").strip("\n") for text in (sample.gold[0], answer))
    golds, answers = _read_items(_quote_items(gold)) or [gold], _read_items(said) or [said]
    flags: Sequence[str] = json.loads(sample.metadata[_YEARS])
    if len(flags) < len(golds):
        flags = [*flags] * len(golds)
    scores = [
        float(other.strip().lower() == one.strip().lower())
        if exact or flags[place].upper() == "YES"
        else _compare(one, other)
        for place, (other, one) in enumerate(zip(golds, answers, strict=False))
    ]
    # Items that one of the two lists lacks are wrong.
    return sum(scores) / max(len(golds), len(answers))


def _quote_items(text: str) -> str:
    """A list of bare words with quotes around them, as the authors' expression puts them."""
    found = _BARE_LIST.match(text.strip())
    if found is None:
        return text
    try:
        return str(evaluate_literal("[" + _BARE_ITEM.sub(r"'\1'", found[1]) + "]"))
    except BROKEN_LITERAL:
        return text


def _read_items(text: str) -> list[str]:
    try:
        items = evaluate_literal(text)
    except BROKEN_LITERAL:
        return []
    return [str(item).strip(" '") for item in items] if isinstance(items, list) else []


def _compare(answer: str, gold: str) -> float:
    said, right = (text.strip().strip("%").strip() for text in (answer, gold))
    try:
        value, target = (float(text.strip().strip("%")) for text in (said, right))
    except ValueError:
        likeness = similarity(said.lower(), right.lower())
        return likeness if likeness > THRESHOLD else 0.0
    if target == 0.0:
        return float(value == 0.0)
    return float(abs(value - target) / abs(target) <= _LEEWAY)


BENCHMARK = Declaration(
    name="chartqapro",
    version="1",
    title="ChartQAPro, charts of many kinds",
    paper="https://arxiv.org/abs/2504.05506",
    provenance="ChartQAPro of its authors (MIT), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/chartqapro.tsv", "27653ea8dd8dd3a85bc4f432db96447a"
    ),
    aliases={"ChartQAPro": {}},
    sample=_sample,
    kind="open",
    template=PromptTemplate(open=""),
    scoring=open_answers(
        "relaxed_accuracy", open_rules(relaxed_mean, official=relaxed_mean_authors, vlmevalkit=relaxed_mean_authors)
    ),
    coverage="exact",
)

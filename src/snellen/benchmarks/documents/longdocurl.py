"""LongDocURL: understanding, reasoning and locating in documents of 86 pages on average (Deng et al. 2024,
https://arxiv.org/abs/2412.18424).

One example row (made up): question_id "free_4055915_42_71_8", doc_no "4055915", question "How many criteria are
there for judging the cakes?", answer 5, answer_format "Integer" (Float, String, List, None), evidence_pages [54],
evidence_sources ["Table"], task_tag "Reasoning" (Understanding, Locating), question_type "calculate", images
[".../pdf_pngs/4000-4999/4055/4055915_41.png", ...], about 30 pages around the evidence.

Oddities: 2,325 questions. The file names pictures by paths of its authors' machine; unpacked beside the file, in a
folder `pdf_pngs`, they are found by the rest of these.

The score is the authors' "generalized accuracy", by the type of the answer: equal whole numbers, numbers within 1 %,
also as percent, the similarity of texts above one half, and of lists the mean similarity of each gold item to the
nearest, times the root of the share of items where the answer has more. They and VLMEvalKit have a language model
extract the short answer first, as `--extractor MODEL` does here; the authors' tags around it are read, and what
Snellen's own prompt asks for.

`--rule official` is the authors' script, which drops signs of units and not their words ("kilometers" becomes
"kilo", "system" becomes "syste"), and reads "1,250" as two numbers. VLMEvalKit drops one unit. By our rule only a
unit behind a number is dropped, and the answer to what the document does not tell is every way to abstain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from snellen.benchmarks.declaration.declaration import Declaration, Headline, plain_sums
from snellen.benchmarks.declaration.documents import (
    PAGES,
    SHORT_OR_ABSTAIN,
    adapt_to_extractor,
    add_evidence,
    add_extraction,
    group_by_evidence,
    parse_document_answer,
    parse_marked_answer,
)
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.core import lazy_re as re
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal, parse_json_or_literal
from snellen.core.output import Answer, Generated, Output, ParsedAnswer, Unparsed
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import Summary, SummaryContext
from snellen.extract.llm import RULE
from snellen.extract.unanswered import model_text
from snellen.prompts.pdf_pages import with_pages
from snellen.scoring.accuracy import counted_score
from snellen.scoring.document import abstains, is_unanswerable, thresholded_similarity
from snellen.scoring.typed_answer import clean_text, is_exact, parse_items, score_number, score_text

TASK, FORMAT = "task_tag", "answer_format"
_TAG, _FORMAT_TAG = "concise_answer", "answer_format"
_UNITS = ("kg", "mm", "m", "meters", "acres", "minutes", "mile", "miles", "million", "thousand", "billion")
"""In the order in which the authors' script looks for them."""
_UNITS_OF_VLMEVALKIT = (
    "kg",
    "mm",
    "meters",
    "minutes",
    "miles",
    "mile",
    "acres",
    "million",
    "thousand",
    "billion",
    "m",
)
_UNIT_BEHIND_NUMBER = re.compile(rf"(?<=\d)\s*(?:{'|'.join(_UNITS)})$")

Clean = Callable[[str], str]


def _clean(text: str) -> str:
    """Lower case without commas, a unit behind a number, parentheses, quotes and signs of money and percent."""
    text = text.lower().strip().replace(",", "")
    return _without_signs(_UNIT_BEHIND_NUMBER.sub("", text))


def _clean_by_authors(text: str) -> str:
    """The same, without the signs of each unit that the text ends in, as often as they stand there."""
    text = text.lower().strip().replace(",", "")
    for unit in _UNITS:
        if text.endswith(unit):
            text = text.rstrip(unit).strip()
    return _without_signs(text)


def _clean_by_vlmevalkit(text: str) -> str:
    text = text.lower().strip().replace(",", "")
    unit = next((unit for unit in _UNITS_OF_VLMEVALKIT if text.endswith(unit)), "")
    return _without_signs(text.removesuffix(unit).strip())


def _without_signs(text: str) -> str:
    return clean_text(text).lstrip("£").strip()


def _grade(answer: str, sample: Sample) -> float:
    gold = sample.gold[0]
    if is_unanswerable(gold) or abstains(answer):
        return float(is_unanswerable(gold) and abstains(answer))
    kind = sample.groups.get(FORMAT, "String")
    items = parse_items(answer) if kind == "List" else [answer]
    return _score(_clean, items, answer, gold, kind)


def _grade_by_script(clean: Clean, answer: str, sample: Sample) -> float:
    """The answer is what Python makes of its text, and the items of a list what it makes of that."""
    value = _value(answer)
    listed = _value(value) if isinstance(value, str) and value.startswith("[") else value
    items = list(listed) if isinstance(listed, list | set) else [listed]
    return _score(clean, items, str(value), sample.gold[0], sample.groups.get(FORMAT, "String"))


def _value(text: str) -> Any:
    try:
        return evaluate_literal(text)
    except BROKEN_LITERAL:
        return text


def _score(clean: Clean, items: Sequence[Any], answer: str, gold: str, kind: str) -> float:
    """The score of an answer as a list of items and as a text, by the type of the gold."""
    if kind == "Integer":
        return _score_integer(clean(answer), clean(gold))
    if kind == "Float":
        return score_number(clean(answer), clean(gold))
    if kind in ("String", "None"):
        return score_text(clean(answer), clean(gold))
    return _score_items([clean(_item(one)) for one in items], [clean(_item(one)) for one in _gold_items(gold)])


def _score_integer(answer: str, gold: str) -> float:
    try:
        return float(int(answer) == int(gold))
    except ValueError:
        return 0.0


def _score_items(items: Sequence[str], golds: Sequence[str]) -> float:
    """1 or 0 where the first gold is a number or of the exact kind: then all have to be the same, in their order."""
    if not items or not golds:
        return 0.0
    if _is_number(golds[0]) or is_exact(golds[0]):
        return float("-".join(items) == "-".join(golds))
    nearest = sum(max(thresholded_similarity(item, gold) for item in items) for gold in golds)
    return nearest / len(golds) * float(min(1, len(golds) / len(items)) ** 0.5)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _item(value: Any) -> str:
    """An item as text; of an object its values."""
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def _gold_items(gold: str) -> Sequence[Any]:
    try:
        value = parse_json_or_literal(gold) if gold.startswith("[") else gold
    except ValueError:
        value = gold
    return value if isinstance(value, list) else [value]


def _parse_tagged(output: Output) -> Answer | None:
    """What the extractor puts between the authors' tags; without any, behind the mark of our own prompt."""
    if not isinstance(output, Generated):
        return None
    text = model_text(output)
    answer = _between_tags(text, _TAG)
    if answer is None:
        return parse_marked_answer(output)
    return ParsedAnswer(answer, RULE) if answer and _between_tags(text, _FORMAT_TAG) is not None else Unparsed()


def _between_tags(text: str, name: str) -> str | None:
    """What stands between the first tag of a name and its end; None where one of them is missing."""
    _, _, rest = text.partition(f"<{name}>")
    inside, end, _ = rest.partition(f"</{name}>")
    return inside if end else None


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The accuracy; a question counts under each of its sources."""
    counted = [(record, counted_score(record, context.failures)) for record in records]
    return group_by_evidence(
        context.plain(records), [(record, score) for record, score in counted if score is not None]
    )


BENCHMARK = Declaration(
    name="longdocurl",
    version="1",
    title="LongDocURL, long documents",
    paper="https://arxiv.org/abs/2412.18424",
    provenance="LongDocURL of its authors, as published on the Hub",
    data=Published(
        {},
        {
            (): published_tsv(
                "https://huggingface.co/datasets/dengchao/LongDocURL/resolve/main/"
                "LongDocURL_public_with_subtask_category.jsonl"
            )
        },
    ),
    aliases={"LongDocURL": {}},
    for_variant=adapt_to_extractor,
    group_by=(TASK, FORMAT, "question_type"),
    kind="open",
    adjust=add_evidence,
    requires=PAGES,
    template=SHORT_OR_ABSTAIN,
    max_new_tokens=256,
    prepare=with_pages,
    scoring=open_answers(
        "accuracy",
        add_extraction(
            open_rules(
                _grade,
                official=partial(_grade_by_script, _clean_by_authors),
                vlmevalkit=partial(_grade_by_script, _clean_by_vlmevalkit),
                parse=parse_document_answer,
            ),
            _parse_tagged,
        ),
    ),
    headline=Headline(summarise=_summarise, sums=plain_sums, weighs_scores=True),
)

"""What a reply earns in each task of OCRBench v2, 0..1 (Fu et al. 2024, https://arxiv.org/abs/2501.00321,
Sec. 4), as in the authors' scripts. A reply at which these would stop with an error earns nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from snellen.benchmarks.documents.ocrbench_v2.outlines import outline_similarity
from snellen.benchmarks.documents.ocrbench_v2.replies import (
    TextBox,
    chart_page,
    markdown_page,
    read_chart,
    read_record,
    read_text_boxes,
    table_page,
    wrap_table,
)
from snellen.benchmarks.documents.ocrbench_v2.texts import text_similarity
from snellen.core import lazy_re as re
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal
from snellen.core.place import Box, box_iou
from snellen.core.sample import Sample
from snellen.scoring.edit_distance import similarity
from snellen.scoring.pages.teds import table_similarity

TASK = "task"
EVAL, BOX, CONTENT, ANSWERS = "eval", "bbox", "content", "answers"
"""What a sample keeps of its row: how a reply is compared, gold boxes and what stands in them, as JSON, and the
answers of tasks whose gold is written as a reply is."""
CHOICE, CASE_SENSITIVE, EXACT, REGRESSION = "multiple choice", "case sensitive", "exact match", "regression"
_NUMBER = re.compile(r"\d+")
_TEXT_COMMAND = re.compile(r"\\text\{([^{}]*)\}")
_SHORT_ANSWER = "简答"
"""In questions about handwriting that ask for a sentence."""
_SEPARATORS = ("", ".", ". ", ",", ", ", "、", ";", "; ", " ", "和")
"""What may stand between the letters of a handwritten answer."""
_THRESHOLD = 0.5
_UNREADABLE = "###"
_EDGE_SIGNS = "!?.:,*\"()·[]/'"

Grade = Callable[[str, Sample], float]


def grade_reply(answer: str, sample: Sample) -> float:
    """By the sample's task."""
    return GRADES[sample.groups[TASK]](answer, sample)


_page_similarity = partial(table_similarity, whole_pages=True)


def _flat(text: str, *, blanks: bool = True, fold: bool = True) -> str:
    text = (text.lower() if fold else text).strip().replace("\n", " ")
    return text if blanks else text.replace(" ", "")


def _contains_or_resembles(answer: str, gold: str, parts: int, most: int) -> float:
    """Whether a gold of less than `most` parts stands in the answer; of longer ones the similarity, 0
    below the threshold."""
    if parts < most:
        return float(gold in answer)
    likeness = similarity(answer, gold)
    return likeness if likeness >= _THRESHOLD else 0.0


def grade_answer(answer: str, golds: Sequence[str], *, fold: bool = True) -> float:
    """The best of the golds: of less than five words contained, else by edit distance."""
    said = _flat(answer, fold=fold)
    flat = (_flat(gold, fold=fold) for gold in golds)
    return max((_contains_or_resembles(said, gold, len(gold.split()), 5) for gold in flat), default=0.0)


def _grade_chinese_answer(answer: str, golds: Sequence[str]) -> float:
    """The same without blanks: of less than four parts between commas contained."""
    said = _flat(answer, blanks=False)
    flat = (_flat(gold, blanks=False) for gold in golds)
    return max((_contains_or_resembles(said, gold, len(gold.split(",")), 4) for gold in flat), default=0.0)


def _grade_question(plain: Callable[[str, Sequence[str]], float], answer: str, sample: Sample) -> float:
    compare = sample.metadata.get(EVAL, "")
    if compare == CHOICE:
        return float("".join(filter(str.isalpha, answer)) == sample.gold[0])
    if compare == CASE_SENSITIVE:
        return grade_answer(answer, sample.gold, fold=False)
    return plain(answer, sample.gold)


def _grade_count(answer: str, sample: Sample) -> float:
    """Whether a gold stands in the answer; of the kind `regression` 1 - error / gold of the first number, 0
    for half or less."""
    golds = [_flat(gold) for gold in sample.gold]
    if sample.metadata.get(EVAL) == EXACT:
        return float(any(gold in answer for gold in golds))
    found = _NUMBER.search(_flat(answer))
    try:
        number = int(found[0]) if found else 0
        return max((_nearness(number, int(gold)) for gold in golds), default=0.0)
    except ValueError:
        return 0.0


def _nearness(number: int, gold: int) -> float:
    if not 0 < number < 2 * gold:
        return 0.0
    nearness = 1 - abs(number - gold) / gold
    return nearness if nearness > _THRESHOLD else 0.0


def _grade_formula(answer: str, sample: Sample) -> float:
    """Whether a gold stands in the answer, both without blanks."""
    said = _flat(answer, blanks=False, fold=False)
    return float(any(_flat(gold, blanks=False, fold=False) in said for gold in sample.gold))


def _grade_chinese_formula(answer: str, sample: Sample) -> float:
    r"""The same without the command \text."""
    said, gold = (_TEXT_COMMAND.sub(r"\1", text) for text in (answer, sample.gold[0]))
    return float(_flat(gold, blanks=False, fold=False) in _flat(said, blanks=False, fold=False))


def _grade_text(answer: str, sample: Sample) -> float:
    return text_similarity(answer, sample.gold[0])


def _grade_handwriting(answer: str, sample: Sample) -> float:
    """Texts by their similarity, letters by whether they stand in the answer, however parted."""
    if _SHORT_ANSWER in sample.question:
        return _grade_text(answer, sample)
    return float(any(separator.join(sample.gold[0]) in answer for separator in _SEPARATORS))


def _grade_table(answer: str, sample: Sample) -> float:
    """TEDS of two tables, which the question asks for in HTML or Markdown; 0 if it says neither."""
    asked = sample.question.lower()
    if "html" in asked:
        return _grade_html(answer, sample)
    if "markdown" in asked:
        return _page_similarity(markdown_page(answer), markdown_page(sample.gold[0]))
    return 0.0


def _grade_html(answer: str, sample: Sample) -> float:
    page = table_page(answer)
    return _page_similarity(page, wrap_table(sample.gold[0])) if page else 0.0


def _grade_chart(answer: str, sample: Sample) -> float:
    """TEDS of two objects, each a table of names and values."""
    chart, gold = read_chart(answer), read_chart(sample.gold[0])
    return _page_similarity(chart_page(chart), chart_page(gold)) if chart else 0.0


def _grade_document(answer: str, sample: Sample) -> float:
    return outline_similarity(answer, sample.gold[0])


def _grade_fields(answer: str, sample: Sample) -> float:
    """The share of all names, those of the answer and of the gold, whose values are equal but for case and
    blanks. A gold value may be a list of which each is right; null is none."""
    said = {name: _flat(value, blanks=False) for name, value in read_record(answer).items()}
    golds = {
        name: [_flat(str(one), blanks=False) for one in values if one is not None]
        for name, values in field_values(json.loads(sample.metadata[ANSWERS])).items()
    }
    names = said.keys() | {name for name, values in golds.items() if values}
    return sum(said.get(name) in golds.get(name, ()) for name in names) / len(names) if names else 0.0


def field_values(record: Mapping[str, Any]) -> Mapping[str, Sequence[Any]]:
    """Names with the values that are right."""
    return {name: held if isinstance(held, list) else [held] for name, held in record.items()}


def _grade_position(answer: str, sample: Sample) -> float:
    """Half for the answer, half for the IoU of its box, both of a record in the reply."""
    said = read_record(answer)
    golds = json.loads(sample.metadata[ANSWERS])
    content = grade_answer(said["answer"], golds) if "answer" in said else 0.0
    return content / 2 + _iou_of_record(said.get("bbox", ""), json.loads(sample.metadata[BOX])) / 2


def _iou_of_record(text: str, gold: Sequence[Any]) -> float:
    try:
        said = [int(number) for number in evaluate_literal(text)]
        return box_iou(Box(*map(float, said[:4])), Box(*map(float, map(int, gold[:4]))))
    except (*BROKEN_LITERAL, OverflowError):
        return 0.0


def _grade_spotting(answer: str, sample: Sample) -> float:
    """F1 of boxes with their texts: in the order of the gold, then of the reply, boxes are paired whose IoU
    is above 0.5, and count if their texts are equal but for case and signs at the edges of the gold. Boxes
    that lie by more than half in an unreadable one, `###`, do not count, nor does that."""
    said = read_text_boxes(answer)
    golds = gold_boxes(json.loads(sample.metadata[BOX]), json.loads(sample.metadata[CONTENT]))
    if not said or not golds:
        return 0.0
    unreadable = [gold.box for gold in golds if gold.text == _UNREADABLE]
    said = [one for one in said if not any(_share(one.box, box) > _THRESHOLD for box in unreadable)]
    wanted = [gold for gold in golds if gold.text != _UNREADABLE]
    free, right = list(said), 0
    for gold in wanted:
        partner = next((one for one in free if box_iou(one.box, gold.box) > _THRESHOLD), None)
        if partner is not None:
            free.remove(partner)
            right += _same_text(partner.text.upper(), gold.text.upper())
    return 2 * right / (len(said) + len(wanted)) if right else 0.0


def gold_boxes(corners: Sequence[Sequence[float]], texts: Sequence[Any]) -> list[TextBox]:
    """The gold boxes, each the smallest around its corners, in thousandths."""
    boxes = []
    for numbers, text in zip(corners, texts, strict=False):
        across, down = [int(x) for x in numbers[0::2]], [int(y) for y in numbers[1::2]]
        boxes.append(TextBox(Box(min(across), min(down), max(across), max(down)), str(text)))
    return boxes


def _share(box: Box, other: Box) -> float:
    """The part of a box that lies in the other."""
    across = min(box.right, other.right) - max(box.left, other.left)
    down = min(box.bottom, other.bottom) - max(box.top, other.top)
    area = (box.right - box.left) * (box.bottom - box.top)
    return max(across, 0.0) * max(down, 0.0) / area


def _same_text(text: str, gold: str) -> bool:
    forms = {gold}
    if gold and gold[0] in _EDGE_SIGNS:
        forms |= {form[1:] for form in forms}
    if gold and gold[-1] in _EDGE_SIGNS:
        forms |= {form[:-1] for form in forms}
    return text in forms


_QUESTION: Grade = partial(_grade_question, grade_answer)
_CHINESE_QUESTION: Grade = partial(_grade_question, _grade_chinese_answer)
GRADES: Mapping[str, Grade] = {
    "text recognition en": _QUESTION,
    "fine-grained text recognition en": _grade_text,
    "full-page OCR en": _grade_text,
    "VQA with position en": _grade_position,
    "text spotting en": _grade_spotting,
    "key information extraction en": _grade_fields,
    "key information mapping en": _grade_fields,
    "document parsing en": _grade_document,
    "chart parsing en": _grade_chart,
    "table parsing en": _grade_table,
    "formula recognition en": _grade_formula,
    "math QA en": _QUESTION,
    "text counting en": _grade_count,
    "document classification en": _QUESTION,
    "cognition VQA en": _QUESTION,
    "diagram QA en": _QUESTION,
    "reasoning VQA en": _QUESTION,
    "science QA en": _QUESTION,
    "APP agent en": _QUESTION,
    "ASCII art classification en": _QUESTION,
    "full-page OCR cn": _grade_text,
    "key information extraction cn": _grade_fields,
    "handwritten answer extraction cn": _grade_handwriting,
    "document parsing cn": _grade_document,
    "table parsing cn": _grade_html,
    "formula recognition cn": _grade_chinese_formula,
    "cognition VQA cn": _CHINESE_QUESTION,
    "reasoning VQA cn": _CHINESE_QUESTION,
    "text translation cn": _grade_text,
}
"""By task; `text grounding en` asks for a place and is graded as one."""

"""OCRBench v2: reading, finding and understanding texts in pictures, in 30 tasks in English and Chinese (Fu et
al. 2024, https://arxiv.org/abs/2501.00321).

A row of this form (made up): index 0, question "What is the brand on the sign?", answer "['Shell', 'shell']",
category "text recognition en", eval "without eval" (or multiple choice, case sensitive, exact match,
regression), bbox "without bbox", content "without content", image <base64>. The authors' JSON calls the columns
answers and type, and leaves out what a row has not; the copies on the Hub say null or None there, and bbox_list
for several boxes.

Oddities: 10,000 questions. A gold of less than five words is right wherever it stands in the reply, so that long
replies are favoured. What a document says does not count, only its headings and lines (`outlines`). Places are
asked for in thousandths of the picture, by the questions themselves. Texts that are to be found
(`text grounding en`) are places here: in another space, which the option `coordinates` says, they are asked for
without the question's own form of the answer. Other tasks keep the form of the question.

The headline is the mean of the overall scores of English and Chinese, which the authors report apart and which
stand in the grouping `language`: each the mean of its abilities, in which every question counts once. Our rule
drops what a model thinks first and reads the letter of a multiple choice in any reply; `--rule official` and
`--rule vlmevalkit` are the authors' scripts, the latter a copy. lmms-eval has their grades, too, and means over
all questions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import first_cell
from snellen.benchmarks.declaration.open_questions import BARE, open_rules
from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.places import add_gold
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.declaration.video_questions import nested_weights
from snellen.benchmarks.documents.ocrbench_v2.grading import (
    ANSWERS,
    BOX,
    CHOICE,
    CONTENT,
    EVAL,
    GRADES,
    TASK,
    field_values,
    gold_boxes,
    grade_reply,
)
from snellen.benchmarks.documents.ocrbench_v2.texts import check_text_packages
from snellen.benchmarks.protocol.parsers import OFFICIAL, VLMEVALKIT
from snellen.core.benchmark import COORDINATES, Variant
from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.core.output import ParsedAnswer
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Summary, SummaryContext
from snellen.extract.choice import parse_choice
from snellen.extract.open_text import parse_whole
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import mean_of_groups, metric_of_sums
from snellen.scoring.pages.teds import check_tree_packages

LANGUAGE, ABILITY = "language", "ability"
HEADLINE, OVERALL = "mean_of_languages", "overall"
_LANGUAGES = {"en": "English", "cn": "Chinese"}
_ABILITIES: Mapping[str, Sequence[str]] = {
    "text recognition": ("text recognition", "fine-grained text recognition", "full-page OCR"),
    "text detection": ("text grounding", "VQA with position"),
    "text spotting": ("text spotting",),
    "relationship extraction": (
        "key information extraction",
        "key information mapping",
        "handwritten answer extraction",
    ),
    "element parsing": ("document parsing", "chart parsing", "table parsing", "formula recognition"),
    "mathematical calculation": ("math QA", "text counting"),
    "visual text understanding": ("document classification", "cognition VQA", "diagram QA"),
    "knowledge reasoning": ("reasoning VQA", "science QA", "APP agent", "ASCII art classification", "text translation"),
}
_ABILITY_OF = {task: ability for ability, tasks in _ABILITIES.items() for task in tasks}
_GROUNDING = "text grounding en"
_FORM = "Output the normalized coordinates"
"""Where the question about a place begins to say how it is answered."""
_ABSENT = frozenset({"", "none", "null", "nan", "without eval", "without bbox", "without content"})
_LETTERS = dict.fromkeys("ABCDEFGH", "")
"""Labels of options, whose texts stand in the questions."""
_MAX_NEW_TOKENS = 4096
"""Pages and their tables are long."""

_PLACE = PlaceRules(
    shape="box",
    metric="iou",
    coordinates="thousandths",
    gold="answer",
    gold_space="thousandths",
    parse=dict.fromkeys((OFFICIAL, VLMEVALKIT), "extract.published.boxes.parse_ocrbench_v2"),
)


def _sample(row: Row, options: Options) -> Sample | None:
    """Raises DataError for a row of no known task, or whose gold is not what the task needs."""
    task = first_cell(row.cells, "category", "type")
    kind, _, language = task.rpartition(" ")
    if task not in GRADES and task != _GROUNDING:
        raise DataError(f"the column category is {task!r}; expected a task of OCRBench v2, as {_GROUNDING!r}")
    if options["lang"] not in ("all", language):
        return None
    answers = _list_cell(row, "answer", "answers")
    name = _LANGUAGES[language]
    groups = {TASK: task, ABILITY: f"{name} {_ABILITY_OF[kind]}", LANGUAGE: name}
    if task == _GROUNDING:
        return _place_sample(row, answers, groups, keeps_form=options[COORDINATES] == _PLACE.coordinates)
    extras = {name: first_cell(row.cells, *names) for name, names in _EXTRAS.items()}
    held = {name: cell for name, cell in extras.items() if cell.lower() not in _ABSENT}
    for name in (BOX, CONTENT):
        if name in held:
            held[name] = _json(_list_cell(row, *_EXTRAS[name]))
    missing = [name for name in _NEEDS.get(task, ()) if name not in held]
    if missing:
        raise DataError(f"the column {missing[0]} is empty, which {task!r} needs")
    if task in _WRITTEN:
        answers = _WRITTEN[task](answers, held)
    sample = build_sample(row, gold=tuple(map(_text, filter(None, answers))), groups=groups)
    return structs.replace(sample, metadata=held)


_EXTRAS = {EVAL: ("eval",), BOX: ("bbox_list", "bbox"), CONTENT: ("content",)}
_NEEDS = {"VQA with position en": (BOX,), "text spotting en": (BOX, CONTENT), "text counting en": (EVAL,)}


def _place_sample(row: Row, answers: Sequence[Any], groups: Mapping[str, str], *, keeps_form: bool) -> Sample:
    """The question as it is, or up to its own form of the answer, which is then asked for in the space of
    the run."""
    question = row.cells.get("question", "")
    question = question if keeps_form else question.partition(_FORM)[0].strip()
    try:
        box = [int(number) for number in answers]
    except (TypeError, ValueError):
        box = []
    if len(box) != 4:
        raise DataError(f"the column answer is {list(answers)!r}; expected a box of four whole numbers")
    sample = build_sample(row, kind="place", question=question, gold="place", groups=groups)
    return add_gold(_PLACE, sample, structs.replace(row, cells={**row.cells, "answer": json.dumps(box)}))


def _write_fields(answers: Sequence[Any], held: dict[str, str]) -> Sequence[Any]:
    """The record of the first values that are right, as a reply has it."""
    record = answers[0] if answers else None
    if isinstance(record, str):
        record = _parse(record.strip('"'), "answer")
    if not isinstance(record, dict):
        raise DataError("the column answer has no object; expected names with their values")
    held[ANSWERS] = _json(record)
    return [{name: values[0] for name, values in field_values(record).items() if values}]


def _write_position(answers: Sequence[Any], held: dict[str, str]) -> Sequence[Any]:
    golds = list(map(_text, answers))
    held[ANSWERS] = _json(golds)
    return [{"answer": golds[0], "bbox": held[BOX]}] if golds else ()


def _write_spots(answers: Sequence[Any], held: dict[str, str]) -> Sequence[Any]:
    spots = gold_boxes(json.loads(held[BOX]), json.loads(held[CONTENT]))
    return [repr([(*map(int, spot.box), spot.text) for spot in spots])]


_WRITTEN: Mapping[str, Callable[[Sequence[Any], dict[str, str]], Sequence[Any]]] = {
    "key information extraction en": _write_fields,
    "key information mapping en": _write_fields,
    "key information extraction cn": _write_fields,
    "VQA with position en": _write_position,
    "text spotting en": _write_spots,
}
"""Tasks whose gold is written as a reply is; what the row says is kept beside it."""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _list_cell(row: Row, *columns: str) -> Sequence[Any]:
    """The list of a cell in JSON or as Python writes it; another value is a list of one."""
    cell = first_cell(row.cells, *columns)
    if not cell.lstrip().startswith(("[", "{", "(")):
        return [cell] if cell else []
    value = _parse(cell, columns[0])
    return value if isinstance(value, list | tuple) else [value]


def _parse(cell: str, column: str) -> Any:
    try:
        return parse_json_or_literal(cell)
    except ValueError:
        raise DataError(f"the column {column} is {cell[:60]!r}; expected a list or an object") from None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _grade(answer: str, sample: Sample) -> float:
    """As the authors; of a multiple choice the letter that a reply names, and 1 for what is written as a gold
    is, which METEOR leaves a little below."""
    if answer in sample.gold:
        return 1.0
    if sample.metadata.get(EVAL) == CHOICE and sample.gold[0] in _LETTERS:
        read = parse_choice(answer, _LETTERS)
        answer = read.value if isinstance(read, ParsedAnswer) else ""
    return grade_reply(answer, sample)


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean of the languages, with languages, abilities and tasks as groups."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return structs.replace(summary, headline=structs.replace(summary.headline, name=HEADLINE))
    headline = metric_of_sums(HEADLINE, _sums(context, records), summary.headline.n, records)
    by_language: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if counted_score(record, context.failures) is not None:
            by_language[record.groups[LANGUAGE]].append(record)
    languages = {
        name: metric_of_sums(OVERALL, _sums(context, held), len(held), held) for name, held in by_language.items()
    }
    return structs.replace(
        summary,
        headline=headline,
        metrics={HEADLINE: headline, **summary.metrics},
        groups={LANGUAGE: languages, **{name: cells for name, cells in summary.groups.items() if name != LANGUAGE}},
        bounds=None,
    )


def _sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of the languages' means of their abilities, over those that have a score."""
    weights = partial(nested_weights, lambda name: name.partition("/")[0], total=100.0)
    return mean_of_groups(records, _language_and_ability, context.failures, weights)


def _language_and_ability(record: Record) -> str:
    return f"{record.groups[LANGUAGE]}/{record.groups[ABILITY]}"


_SCORING = RuleScoring(
    rules=open_rules(_grade, official=grade_reply, vlmevalkit=grade_reply, parse=parse_whole),
    metric="score",
    template=BARE,
    place=_PLACE,
)


def _drop_closing_line(declaration: Declaration, variant: Variant) -> Declaration:
    """Nothing is said of places in the space that the questions state themselves."""
    if variant.options.get(COORDINATES, _PLACE.coordinates) != _PLACE.coordinates:
        return declaration
    return replace(declaration, scoring=replace(_SCORING, place=structs.replace(_PLACE, prompt=" ")))


def _check() -> None:
    check_tree_packages()
    check_text_packages()


BENCHMARK = Declaration(
    name="ocrbench-v2",
    version="1",
    title="OCRBench v2, reading and finding texts",
    paper="https://arxiv.org/abs/2501.00321",
    provenance="OCRBench v2 of its authors (MIT), as VLMEvalKit's TSV",
    data=Published(
        {"edition": ("full", "mini")},
        {
            ("full",): published_tsv(
                "https://huggingface.co/datasets/QYWH/ocrbench_v2/resolve/main/OCRBench_v2.tsv",
                "65d04fe07b4d4ee33e73fc8e7d4d46b0",
            ),
            ("mini",): published_tsv(
                "https://opencompass.openxlab.space/utils/VLMEval/OCRBench_v2_MINI.tsv",
                "11f79b8e1e0b0fe150964de4cb2feb02",
            ),
        },
    ),
    options={"lang": ("all", *_LANGUAGES)},
    aliases={"OCRBench_v2": {}, "ocrbench_v2": {}, "OCRBench_v2_MINI": {"edition": "mini"}},
    sample=_sample,
    template=BARE,
    max_new_tokens=_MAX_NEW_TOKENS,
    scoring=_SCORING,
    for_variant=_drop_closing_line,
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=_sums),
    check=_check,
)

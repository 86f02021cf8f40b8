"""CharXiv: descriptive and reasoning questions about charts of arXiv papers (Wang et al. 2024,
https://arxiv.org/abs/2406.18521).

One example row: index 0, question "What is the label of the ...", answer "7", inst_category 3 (or
qid 1 to 19, of descriptive questions), grading_query "You will be given ... {PREDICTION} ...",
image <base64>.

Oddities: what the judge is asked, examples included, is a cell of each row; reasoning and
descriptive questions are two files, which the authors report apart.

A judge copies out the answer and scores it 1 or 0, in one object; the score is the share of right
answers, overall and by the kind of answer (reasoning) or of task (descriptive), as in Tables 2 and
3. A verdict that cannot be read leaves the sample ungraded; in the authors' script it ends in -1,
in VLMEvalKit it is 0. There is no score without a judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import first_cell, judges_alone, plain_messages
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import JudgedScoring
from snellen.core.errors import DataError
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.extract.verdicts import parse_graded_object

RUBRIC = "charxiv"
CATEGORY = "category"
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_REPLY = "{PREDICTION}"
"""In `grading_query`, where the reply belongs."""
ANSWER_KINDS = ("Text-in-Chart", "Text-in-General", "Number-in-Chart", "Number-in-General")
"""Kinds of answers to reasoning questions, by `inst_category` from 1 on (Table 2)."""
TASKS_OF_QUESTIONS = (
    ("Information Extraction", (1, 2, 3, 4, 5, 6, 7)),
    ("Enumeration", (8, 9, 13, 14, 15)),
    ("Pattern Recognition", (11, 16, 18)),
    ("Counting", (10, 12, 19)),
    ("Compositionality", (17,)),
)
"""Tasks of descriptive questions, each with its templates, `qid` (Table 3)."""
_TASK_OF = {str(number): task for task, numbers in TASKS_OF_QUESTIONS for number in numbers}


def _sample(row: Row, options: Options) -> Sample:
    """The hint is what the judge is asked. Raises DataError for rows without it."""
    grading_query = first_cell(row.cells, "grading_query")
    if _REPLY not in grading_query:
        raise DataError(
            f"`grading_query` has no {_REPLY}; expected the columns of CharXiv_reasoning_val.tsv or "
            "CharXiv_descriptive_val.tsv"
        )
    return build_sample(row, gold=row_gold(row), hint=grading_query, groups={CATEGORY: _category(row.cells)})


def _category(cells: Mapping[str, str]) -> str:
    """The kind of answer, or the task; empty for numbers that the authors do not have."""
    kind = _number(first_cell(cells, "inst_category"))
    if kind:
        return dict(zip("1234", ANSWER_KINDS, strict=True)).get(kind, "")
    return _TASK_OF.get(_number(first_cell(cells, "qid")), "")


def _number(cell: str) -> str:
    """A whole number as spreadsheets and people write it: 3, 3.0."""
    return cell.strip().removesuffix(".0")


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    return {
        "query": sample.hint.replace(_REPLY, reply),
        "question": sample.question,
        "gold": sample.gold[0] if sample.gold else "",
        "reply": reply,
    }


BENCHMARK = Declaration(
    name="charxiv",
    version="7",
    title="CharXiv, charts of arXiv papers",
    paper="https://arxiv.org/abs/2406.18521",
    provenance="CharXiv (CC BY-SA 4.0), as VLMEvalKit's TSV",
    data=Published(
        {"split": ("reasoning", "descriptive")},
        {
            ("reasoning",): published_tsv(f"{_HOME}/CharXiv_reasoning_val.tsv", "6fc1a522ad32c2e3d72a89857b8cf10b"),
            ("descriptive",): published_tsv(f"{_HOME}/CharXiv_descriptive_val.tsv", "8507c3740f8ddaedcb6b5c1cfcb3fa06"),
        },
    ),
    aliases={
        "CharXiv_reasoning_val": {"split": "reasoning"},
        "CharXiv_descriptive_val": {"split": "descriptive"},
        "charxiv_val_reasoning": {"split": "reasoning"},
        "charxiv_val_descriptive": {"split": "descriptive"},
    },
    sample=_sample,
    max_new_tokens=1024,
    scoring=judges_alone(
        JudgedScoring(
            rubric=RUBRIC,
            fields=_fields,
            parse=partial(parse_graded_object, name="score", low=0.0, high=1.0),
            # What the judge is asked is for its eyes alone.
            build_messages=lambda sample: plain_messages(structs.replace(sample, hint="")),
        ),
        max_judge_tokens=1024,
    ),
)

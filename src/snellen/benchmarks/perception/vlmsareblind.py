"""BlindTest of "Vision language models are blind": lines, circles, squares and grids that people see
at a glance (Rahmanzadehgervi et al. 2024, https://arxiv.org/abs/2407.06581).

A row of this form (made up): index 0, question "How many squares are there? Answer with a number in
curly brackets, e.g. {3}.", answers "4", task "Nested Squares", image <base64>.

Oddities: questions say how to answer, and are asked as they stand. Answers are a number, a letter,
yes or no, or rows and columns ("5,6"). The headline is the paper's task mean, in which both tasks of
grids are one. The authors publish no script. Our rule takes the answer that a reply marks or states,
of grids its numbers. VLMEvalKit (`--rule vlmevalkit`) takes what the first braces hold, of circles,
pentagons and touching circles the gold anywhere in the reply, so that 5 is in 15, and of grids the
numbers in braces behind "rows" and "columns", else a pair in brackets.
"""

from __future__ import annotations

import re

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.declaration.video_questions import group_mean
from snellen.benchmarks.protocol.flows import EQUALITY
from snellen.benchmarks.protocol.parsers import OWN, VLMEVALKIT
from snellen.core.sample import Row, Sample
from snellen.prompts.choice import PromptTemplate

TASK, MEAN = "task", "task_mean"
_COLUMN_GROUP = "paper_task"
_GRIDS = "Counting Grid"
_CONTAINED = ("Olympic Counting", "Touching Circles")
_BRACES = re.compile(r"\{(.*?)\}")
_ROWS = re.compile(r"[Rr]ows?[^{}]*\{(\d+)\}")
_COLUMNS = re.compile(r"[Cc]olumns?[^{}]*\{(\d+)\}")
_PAIR = re.compile(r"\((\d+),\s*(\d+)\)")
_NUMBER = re.compile(r"\d+")


def _add_task(sample: Sample, row: Row) -> Sample:
    task = sample.groups.get(TASK, "")
    return structs.replace(sample, groups={**sample.groups, _COLUMN_GROUP: _GRIDS if task.startswith(_GRIDS) else task})


def _grade(answer: str, sample: Sample) -> float:
    if sample.groups[_COLUMN_GROUP] == _GRIDS:
        return float(any(_NUMBER.findall(answer) == _NUMBER.findall(gold) for gold in sample.gold))
    return EQUALITY.grade(answer.strip("{} "), sample)


def _grade_vlmevalkit(reply: str, sample: Sample) -> float:
    gold, task = sample.gold[0], sample.groups[TASK]
    if task.startswith(_GRIDS):
        return float(_grid_of(reply) == [int(number) for number in _NUMBER.findall(gold)])
    if task.startswith(_CONTAINED):
        fold = task == _CONTAINED[1]
        return float(gold.lower() in reply.lower() if fold else gold in reply)
    braces = _BRACES.search(reply)
    return float((braces[1] if braces else "") == gold)


def _grid_of(reply: str) -> list[int]:
    """Rows and columns that a reply names."""
    rows, columns = _ROWS.search(reply), _COLUMNS.search(reply)
    if rows and columns:
        return [int(rows[1]), int(columns[1])]
    pair = _PAIR.search(reply)
    return [int(pair[1]), int(pair[2])] if pair else []


_RULES = open_rules(_grade, vlmevalkit=_grade_vlmevalkit, parse=EQUALITY.parse)

BENCHMARK = Declaration(
    name="vlmsareblind",
    version="1",
    title="Vision language models are blind, BlindTest",
    paper="https://arxiv.org/abs/2407.06581",
    provenance="BlindTest of its authors (MIT, XAI/vlmsareblind on the hub), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/VLMBlind.tsv", "e0f960236afe08f9fa48e8ccc908b2a9"
    ),
    aliases={"VLMBlind": {}, "VLMs Are Blind": {}, "BlindTest": {}},
    group_by=(TASK,),
    kind="open",
    adjust=_add_task,
    template=PromptTemplate(open=""),
    scoring=RuleScoring(rules={rule: _RULES[rule] for rule in (OWN, VLMEVALKIT)}),
    headline=group_mean(MEAN, _COLUMN_GROUP),
    coverage="generic type",
)

"""CMMMU: college exams in Chinese, 30 subjects of 6 disciplines (Zhang et al. 2024,
https://arxiv.org/abs/2401.11944).

One example row (made up): index 0, type "选择", question "图中的曲线表示什么？", option1 "需求",
option2 "供给", option3 "价格", option4 "成本", answer "AB", category "商业", subcategory "经济",
image <base64>.

Oddities: questions are choices with one or several right options ("选择"), statements that are
right or wrong ("判断", gold "对" or "错"), or have an answer to fill in ("填空"). How many options
are right is not said, so all choices are asked alike, and are open questions here: the labels that
are named must be those of the gold. The closing lines are Snellen's own.

Our rule takes the labels, the word or the text that a reply marks or states as its answer; a
filled-in number may have words around it. `--rule official` and `--rule vlmevalkit`, a copy of the
former, search announced texts, and draw at random where they find nothing (see
`extract.published.cmmmu`).
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.golds import yes_no_golds
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import DrawnCredit, OpenScoring
from snellen.benchmarks.protocol.parsers import PARSERS
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.core.sample import Row, Sample
from snellen.extract.clean import without_thinking
from snellen.extract.multi_label import SEPARATOR, parse_multi_label
from snellen.extract.open_text import parse_final, parse_raw
from snellen.extract.published.cmmmu import LABELS, choose_labels, draw, holds_filled, parse_truth
from snellen.extract.yes_no import parse_yes_no
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.open_answer import matches_gold

TYPE = "type"
_CHOICE, _STATEMENT = "选择", "判断"
_CLOSING = {
    _CHOICE: "可能有一个或多个选项正确，请回答所有正确选项的字母。",
    _STATEMENT: "请判断这一说法，回答“对”或“错”。",
}
_FILL = "请直接给出答案。"
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_SHORT_WRONG = re.compile("错(?!误)")
_AMBIGUOUS = re.compile("是否正确|对错|对不对|正确与否")
_WRONG = re.compile("不正确|不对|不准确|错误?")
_RIGHT = re.compile("正确|准确|对(?=的|$|[。，,.!！])")


def _adjust(sample: Sample, row: Row) -> Sample:
    """The question with its options and closing line; the gold as labels, Yes or No, or text."""
    kind = row.cells.get(TYPE, "")
    gold = "".join(sample.gold).strip()
    options = {
        label: row.cells[f"option{number}"]
        for number, label in enumerate(LABELS, start=1)
        if f"option{number}" in row.cells
    }
    lines = [sample.question, *(f"{label}. {text}" for label, text in options.items())]
    if kind == _CHOICE:
        gold = SEPARATOR.join(sorted(set(gold) & set(LABELS)))
    if kind == _STATEMENT:
        gold = "".join(yes_no_golds(sample.gold))
    return replace(
        sample,
        kind="yes_no" if kind == _STATEMENT else "open",
        question="\n".join((*lines, _CLOSING.get(kind, _FILL))),
        gold=(gold,) if gold else (),
        options=options if kind == _CHOICE else {},
    )


def _grade(answer: str, sample: Sample) -> float:
    [gold] = sample.gold
    if sample.groups.get(TYPE) == _CHOICE:
        labels = parse_multi_label(answer, LABELS)
        return float(isinstance(labels, ParsedAnswer) and labels.value == gold)
    if matches_gold(answer, sample.gold):
        return 1.0
    if not _NUMBER.fullmatch(gold):
        return float(gold in answer)
    numbers = _NUMBER.findall(answer)
    return float(len(numbers) == 1 and matches_gold(numbers[0], sample.gold))


def _grade_published(reply: str, sample: Sample) -> float:
    [gold] = sample.gold
    if sample.groups.get(TYPE) == _CHOICE:
        labels = choose_labels(reply, sample.options)
        earned = (labels or draw(LABELS, reply)) == gold.replace(SEPARATOR, "")
        return float(earned) if labels else DrawnCredit(earned)
    return float(holds_filled(reply, gold))


def _parse_truth(reply: str, stop_reason: str) -> Answer:
    """Our reader of yes and no, which knows the word for wrong in its long form; else whether the
    reply has words for right alone, or for wrong alone."""
    answer = parse_yes_no(_SHORT_WRONG.sub("错误", reply), stop_reason=stop_reason)
    if not isinstance(answer, Unparsed):
        return answer
    text, wrong = _WRONG.subn("", _AMBIGUOUS.sub("", without_thinking(reply)))
    right = _RIGHT.search(text) is not None
    if right == (wrong > 0):
        return answer
    return ParsedAnswer("Yes" if right else "No", "words for right and wrong")


_PUBLISHED = PARSERS["vlmevalkit"]._replace(yes_no=parse_truth, open=OpenScoring(parse_raw, _grade_published))

BENCHMARK = Declaration(
    name="cmmmu",
    version="3",
    title="CMMMU, college exams in Chinese",
    paper="https://arxiv.org/abs/2401.11944",
    provenance="CMMMU of its authors, the validation set as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/CMMMU_VAL.tsv", "b4727e2fce2415bf646379e60c11a726"
    ),
    aliases={"CMMMU": {}, "CMMMU_VAL": {}, "cmmmu_val": {}},
    group_by=("category", "subcategory", TYPE),
    adjust=_adjust,
    max_new_tokens=1024,
    scoring=RuleScoring(
        rules={
            "snellen": PARSERS["snellen"]._replace(yes_no=_parse_truth, open=OpenScoring(parse_final, _grade)),
            "vlmevalkit": _PUBLISHED,
            "official": _PUBLISHED,
        },
        template=PromptTemplate(open="", yes_no=""),
    ),
)

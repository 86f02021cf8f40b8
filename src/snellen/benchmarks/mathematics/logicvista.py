"""LogicVista: logic puzzles whose options are drawn in the picture (Xiao et al. 2024,
https://arxiv.org/abs/2407.04973).

One example row: index 0, question "What choice (A, B, C, or D) should be in place of the question
mark that fits the pattern?", answer "C", skill "['inductive']" (in the authors' JSON a list),
image <base64>.

Oddities: 448 questions with labels up to I and no option texts; three have two right letters
("B, D"); one answer is a digit, which VLMEvalKit rejects and we accept; one row has no answer and
is asked but not scored by us, where the authors count it as wrong.

Right only if exactly the gold letters are named. A judge writes the chosen letters of every reply,
as with the authors and in VLMEvalKit; what the rules alone would score stands beside it. Without a
judge the rules read.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.judged import OFFICIAL, OWN_RULE, Judged, first_cell, plain_messages, split_list
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import ExtractedScoring
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.extract.multi_label import parse_multi_label
from snellen.extract.verdicts import parse_labels

RUBRIC = "letters"
SKILL = "skill"
LABELS = "ABCDEFGHI"


def _sample(row: Row, options: Options) -> Sample:
    """The gold is one value, the letters in order."""
    skills = split_list(first_cell(row.cells, SKILL, "skills"))
    gold = join_labels(first_cell(row.cells, "answer"))
    return build_sample(row, gold=gold, groups={SKILL: SEPARATOR.join(skills)})


def join_labels(text: str) -> str:
    """Letters in any spelling ("b,d", ["b", "d"]) as "B, D"."""
    return ", ".join(sorted(label.upper() for label in split_list(text)))


def _parse(sample: Sample, reply: str, stop_reason: str) -> Answer:
    return parse_multi_label(reply, LABELS, stop_reason=stop_reason)


BENCHMARK = Declaration(
    name="logicvista",
    version="3",
    title="LogicVista, logic puzzles with drawn options",
    paper="https://arxiv.org/abs/2407.04973",
    provenance="LogicVista (Apache-2.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/LogicVista.tsv", "41c5d33adf33765c399e0e6ae588c061"
    ),
    aliases={"LogicVista": {}},
    sample=_sample,
    max_new_tokens=1024,
    scoring=Judged(
        flow=ExtractedScoring(
            rubric=RUBRIC,
            fields=lambda rules, sample, reply: {"question": sample.question, "reply": reply},
            parse=_parse,
            always=True,
            parse_short=lambda sample, text: ParsedAnswer(text, "letters"),
            is_right=lambda sample, answer: answer in sample.gold,
            parse_verdict=parse_labels,
            build_messages=plain_messages,
        ).flow,
        rubrics=(RUBRIC,),
        multi_label=(SKILL,),
        rules=dict.fromkeys((OWN_RULE, OFFICIAL)),
        max_judge_tokens=64,
    ),
    coverage="generic type",
)

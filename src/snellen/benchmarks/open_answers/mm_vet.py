"""MM-Vet: open questions that need several abilities (Yu et al. 2023,
https://arxiv.org/abs/2308.02490).

One example row: index 0, question "What is x in the equation?", answer "-1<AND>-5", category
"ocr,math" (in the authors' files the list `capability`), image <base64>.

Oddities: <AND> and <OR> stand in the answers; a question counts under each of its six abilities
(rec, ocr, know, gen, spat, math), and once under their combination.

A judge gives each reply 0.0 to 1.0 from a few-shot table (Sec. 3.2), the authors'; the score is
100 times the mean. A verdict that cannot be read leaves the sample ungraded; the authors and
VLMEvalKit count it as 0. In VLMEvalKit's means of abilities a question that needs one ability
counts twice; its overall score is as here. `votes` asks each judge several times, as the authors
repeat their runs. There is no score without a judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import first_cell, judges_alone, plain_messages, split_list
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import JudgedScoring
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.extract.verdicts import parse_grade

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
RUBRIC = "mm-vet"
ABILITY = "capability"
COMBINATION = "integration"
"""The abilities that a question needs together."""
MAX_NEW_TOKENS = 1024


def _sample(row: Row, options: Options) -> Sample:
    """The gold is kept in one piece, with its <AND> and <OR>."""
    abilities = split_list(first_cell(row.cells, "capability", "capabilities", "category"))
    groups = {ABILITY: SEPARATOR.join(abilities), COMBINATION: "+".join(sorted(abilities))}
    return build_sample(row, gold="<OR>".join(row_gold(row)), groups=groups)


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    """The last row of the table, as the authors write it."""
    gold = sample.gold[0] if sample.gold else ""
    gold = gold.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    return {"question": sample.question, "gold": gold, "reply": reply}


BENCHMARK = Declaration(
    name="mm-vet",
    version="4",
    title="MM-Vet, open questions graded by a judge",
    paper="https://arxiv.org/abs/2308.02490",
    provenance="MM-Vet (CC BY-NC 4.0), as VLMEvalKit's TSV",
    data=Published(
        {"split": ("all", "hard")},
        {
            ("all",): published_tsv(f"{_HOME}/MMVet.tsv", "748aa6d4aa9d4de798306a63718455e3"),
            ("hard",): published_tsv(f"{_HOME}/MMVet_Hard.tsv", "63a598819a936a2e77c410a78a21ff16"),
        },
    ),
    aliases={"MMVet": {"split": "all"}, "MMVet_Hard": {"split": "hard"}, "mmvet": {"split": "all"}},
    sample=_sample,
    max_new_tokens=MAX_NEW_TOKENS,
    scoring=judges_alone(
        JudgedScoring(
            rubric=RUBRIC, fields=_fields, parse=partial(parse_grade, low=0.0, high=1.0), build_messages=plain_messages
        ),
        multi_label=(ABILITY,),
        max_judge_tokens=64,
    ),
    headline=Headline(name="score"),
)

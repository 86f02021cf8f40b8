"""WildDoc: documents photographed in the wild (Wang et al. 2025, https://arxiv.org/abs/2505.11015).

The pages of three benchmarks are photographed again, and each part is scored by the rule of its
benchmark; a row's id begins with the name of its part. VLMEvalKit's headline is the mean of the
three parts, of which TableVQA's is the mean of its four.
"""

from __future__ import annotations

from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.declaration.video_questions import group_mean, nested_weights
from snellen.benchmarks.documents.tablevqabench import grade as grade_table
from snellen.benchmarks.protocol.parsers import OWN, VLMEVALKIT
from snellen.core.sample import Row, Sample
from snellen.extract.open_text import parse_final
from snellen.scoring.edit_distance import anls, anls_by_script
from snellen.scoring.relaxed import relaxed_correct

PART = "part"
_TRUTH = {"1": "True", "0": "False"}


def _add_part(sample: Sample, row: Row) -> Sample:
    """Group the sample by its part; a table's gold answer becomes what TableVQA-Bench expects."""
    part, _, remainder = sample.id.partition("-")
    if part != "TableVQA":
        return structs.replace(sample, groups={**sample.groups, PART: part, "split": part})
    split = remainder.partition("-")[0]
    gold = "|".join(sample.gold)
    if split == "vtabfact":
        gold = _TRUTH.get(gold, gold)
    return structs.replace(sample, gold=(gold,) if gold else (), groups={**sample.groups, PART: part, "split": split})


def _grade_by_part(answer: str, sample: Sample) -> float:
    part = sample.groups.get(PART)
    if part == "TableVQA":
        return grade_table(answer, sample)
    if part == "ChartQA":
        return float(relaxed_correct(answer, sample.gold))
    return anls(answer, sample.gold)


def _grade_by_part_vlmevalkit(answer: str, sample: Sample) -> float:
    if sample.groups.get(PART) in ("TableVQA", "ChartQA"):
        return _grade_by_part(answer, sample)
    return anls_by_script(answer, sample.gold)


def _part_of_split(split: str) -> str:
    return split if split in ("DocVQA", "ChartQA") else "TableVQA"


_RULES = open_rules(_grade_by_part, vlmevalkit=_grade_by_part_vlmevalkit, parse=parse_final)

BENCHMARK = Declaration(
    name="wilddoc",
    version="10",
    title="WildDoc, documents photographed in the wild",
    paper="https://arxiv.org/abs/2505.11015",
    provenance="jingqun/wilddoc-vlmeval on the hub",
    data=single_tsv(
        "https://huggingface.co/datasets/jingqun/wilddoc-vlmeval/resolve/main/WildDoc.tsv",
        "7b9a95e7ae26dad58be05685f59867aa",
    ),
    group_by=(PART, "split"),
    kind="open",
    adjust=_add_part,
    scoring=RuleScoring(rules={rule: _RULES[rule] for rule in (OWN, VLMEVALKIT)}, metric="score"),
    rule_headlines={VLMEVALKIT: group_mean("mean_of_parts", "split", weights=partial(nested_weights, _part_of_split))},
    coverage="generic type",
)

"""Open questions whose answers a metric compares with gold: parsers, rules, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import EQUALITY, GradeFunction, OpenParser, OpenScoring, against_gold
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT, ParserSet
from snellen.core.benchmark import requires
from snellen.core.sample import Row, Sample
from snellen.extract.open_text import parse_final, parse_raw, parse_whole
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.edit_distance import anls
from snellen.scoring.exact import contains_gold, equal_folded
from snellen.scoring.relaxed import relaxed_correct
from snellen.scoring.vqa_accuracy import vqa_accuracy

SHORT_ANSWER = PromptTemplate(open="Answer the question using a single word or phrase.")
"""The closing line of LLaVA-1.5 (Liu et al. 2023), VLMEvalKit and lmms-eval for short answers."""
BARE = PromptTemplate(open="")
"""Nothing but the question."""
IMAGE = requires("text", "image")
_IMAGE_IDS = ("image_id", "imageid", "ucsf_document_id", "image_name", "image_local_name", "imgname")
"""Columns that name the picture of a question, by which questions come in units."""


def open_rules(
    grade: GradeFunction,
    *,
    official: GradeFunction | None = None,
    vlmevalkit: GradeFunction | None = None,
    lmms_eval: GradeFunction | None = None,
    parse: OpenParser = parse_final,
    secondary: Mapping[str, GradeFunction] | None = None,
    secondary_official: Mapping[str, GradeFunction] | None = None,
    secondary_vlmevalkit: Mapping[str, GradeFunction] | None = None,
) -> dict[str, ParserSet]:
    """The rules of a benchmark of open questions: three, and lmms-eval's if it has a grade.

    `snellen` parses with `parse`, the others take the raw reply. Each rule may have its own grade;
    without one it grades as `snellen`. The `secondary` grades are metrics beside the headline.
    """

    def rule(
        parser: OpenParser, own_grade: GradeFunction | None, own_secondary: Mapping[str, GradeFunction] | None
    ) -> ParserSet:
        all_secondary = {**(secondary or {}), **(own_secondary or {})}
        return ParserSet(open=OpenScoring(parser, own_grade or grade, all_secondary))

    return {
        "snellen": rule(parse, None, None),
        "vlmevalkit": rule(parse_raw, vlmevalkit, secondary_vlmevalkit),
        **({"lmms-eval": rule(parse_raw, lmms_eval, None)} if lmms_eval else {}),
        "official": rule(parse_raw, official, secondary_official),
    }


def open_answers(metric: str, rules: Mapping[str, ParserSet]) -> RuleScoring:
    """Scoring of rows that are all open questions, with one metric as headline.

    Questions about one image are one unit of the interval: by a column that names it, else by its
    bytes. Judges, if there are any, compare each reply with the gold answer beside the metric.
    """
    return RuleScoring(
        rules=rules, metric=metric, kind="open", adjust=_add_image_unit, template=SHORT_ANSWER, max_new_tokens=128
    )


def _add_image_unit(sample: Sample, row: Row) -> Sample:
    return replace(sample, unit=_image_name(row))


def _image_name(row: Row) -> str:
    for column in _IMAGE_IDS:
        if row.cells.get(column):
            return row.cells[column]
    return ",".join(ref.digest for ref in row.media)


class OpenMetric(NamedTuple):
    grade: GradeFunction
    parse: OpenParser


METRICS: Mapping[str, OpenMetric] = {
    "accuracy": OpenMetric(EQUALITY.grade, EQUALITY.parse),
    "exact": OpenMetric(against_gold(equal_folded), parse_final),
    "contains": OpenMetric(against_gold(contains_gold), parse_whole),
    "anls": OpenMetric(against_gold(anls), parse_final),
    "relaxed": OpenMetric(against_gold(relaxed_correct), parse_final),
    "vqa": OpenMetric(against_gold(vqa_accuracy), parse_final),
}
"""How open answers are graded: equal after small differences are taken away, equal but for case,
a gold contained in the reply, by edit distance, within 5 % of a number, against several people."""


def own_and_vlmevalkit(own: OpenScoring, vlmevalkit: OpenScoring) -> dict[str, ParserSet]:
    """Snellen's rule and VLMEvalKit's for all kinds of questions, with these for open ones."""
    return {OWN: PARSERS[OWN]._replace(open=own), VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(open=vlmevalkit)}


def is_gold(answer: str, sample: Sample) -> float:
    """1 for an answer that is written as a gold answer is, else 0."""
    return float(answer in sample.gold)


def rules_by_metric(metric: OpenMetric) -> dict[str, ParserSet]:
    """The rules for all kinds of questions, with open answers graded by a metric."""
    open_scoring = OpenScoring(metric.parse, metric.grade)
    return {rule: parsers._replace(open=open_scoring) for rule, parsers in PARSERS.items()}

"""Omni3D-Bench: sizes and distances in three dimensions (Marsili et al. 2025,
https://arxiv.org/abs/2502.06787).

The answer is yes or no, an option's word, a count, or a size. Sizes are graded by VSI-Bench's mean
relative accuracy: the share of ten thresholds from 0.05 to 0.5 below which the relative error is.
"""

from __future__ import annotations

import re

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import own_and_vlmevalkit
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.core.literals import parse_finite
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.extract.numbers import parse_numeric_answer
from snellen.extract.open_text import parse_final, parse_raw
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.open_answer import matches_gold

MEASURE = "measure"
_MEASURES = {"int": "count", "float": "size"}
_YES_NO = ("yes", "no")
_TRUTH = {"yes": "true", "no": "false"}
_TAGGED = re.compile(r"<ans>(.*?)(?:</ans>|$)", re.DOTALL)
_MEASURE_CLOSING = "Reply with one word or number between <ans> and </ans>. (Answer type: {})"
_THRESHOLDS = (0.5, 0.45, 0.40, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)


def _ask_for_measure(sample: Sample, row: Row) -> Sample:
    """The question with the type of its answer, grouped by it."""
    kind = row.cells.get("answer_type", "")
    gold = sample.gold[0] if sample.gold else ""
    measure = _MEASURES.get(kind) or ("yes_no" if gold.lower() in _YES_NO else "choice")
    closing = _MEASURE_CLOSING.format(kind or "str")
    return structs.replace(sample, question=f"{sample.question}\n{closing}", groups={**sample.groups, MEASURE: measure})


def _parse_tagged(reply: str, stop_reason: str) -> Answer:
    tags = list(_TAGGED.finditer(reply))
    if tags and tags[-1][1].strip():
        return ParsedAnswer(tags[-1][1].strip(), "answer tag", tags[-1].span(1))
    return parse_final(reply, stop_reason)


def _grade_measure(answer: str, sample: Sample) -> float:
    gold, measure = sample.gold[0], sample.groups.get(MEASURE)
    if measure == "yes_no":
        said = parse_yes_no(answer)
        return float(isinstance(said, ParsedAnswer) and said.value.lower() == gold.lower())
    if measure == "choice":
        return float(matches_gold(answer, sample.gold))
    number = parse_numeric_answer(answer)
    estimate = parse_finite(number.value.replace(",", "")) if isinstance(number, ParsedAnswer) else None
    truth = parse_finite(gold)
    if estimate is None or truth is None:
        return 0.0
    return float(estimate == truth) if measure == "count" else mean_relative_accuracy(estimate, truth)


def _grade_measure_vlmevalkit(reply: str, sample: Sample) -> float:
    gold, measure = sample.gold[0], sample.groups.get(MEASURE)
    answer = reply.split("<ans>")[1].split("</ans>")[0] if "<ans>" in reply else reply
    if measure == "yes_no":
        return float(gold in answer.lower() or _TRUTH.get(gold, gold) in answer.lower())
    if measure == "choice":
        return float(answer.lower() == gold)
    if measure == "count":
        return float(_as_whole(answer) == _as_whole(gold))
    estimate, truth = parse_finite(answer), parse_finite(gold)
    if estimate is None or truth is None:
        return 0.0
    return mean_relative_accuracy(estimate, truth)


def _as_whole(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def mean_relative_accuracy(estimate: float, truth: float) -> float:
    """The share of the thresholds below which the relative error is."""
    if not truth:
        return float(estimate == truth)
    error = abs(truth - estimate) / truth
    return sum(error < threshold for threshold in _THRESHOLDS) / len(_THRESHOLDS)


BENCHMARK = Declaration(
    name="omni3d-bench",
    version="10",
    title="Omni3D-Bench, sizes and distances in three dimensions",
    paper="https://arxiv.org/abs/2502.06787",
    provenance="Omni3D-Bench of its authors",
    data=single_tsv(
        "https://huggingface.co/datasets/rohunagrawal/Omni3DBench-VLMEvalKit/resolve/main/omni3dbench.tsv",
        "ba1fa59c3897eb95aed445996ec9b690",
        name="Omni3DBench.tsv",
    ),
    aliases={"Omni3DBench": {}},
    kind="open",
    adjust=_ask_for_measure,
    scoring=RuleScoring(
        rules=own_and_vlmevalkit(
            OpenScoring(_parse_tagged, _grade_measure), OpenScoring(parse_raw, _grade_measure_vlmevalkit)
        )
    ),
)

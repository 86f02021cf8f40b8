"""ScreenSpot: find the element of a user interface that an instruction means (Cheng et al. 2024,
https://arxiv.org/abs/2401.10935); ScreenSpot-v2 corrects its labels (Wu et al. 2024,
https://arxiv.org/abs/2410.23218), ScreenSpot-Pro has large professional screens (Li et al. 2025,
https://arxiv.org/abs/2504.07981).

One example row: index 0, question "view the details of the item", bbox "[42, 1102, 197, 70]" (x, y,
width, height; two corners in ScreenSpot-Pro), data_type "text", data_source "shop", image <base64>.
ScreenSpot-Pro has ui_type, application, platform and category (its authors: group).

A reply is right if its point, or the centre of its box, lies in the element's box. The accuracy is
the headline. Beside it stands the mean of the six cells of platform and kind of element, which is
the average of ScreenSpot's paper, if all six were asked.

Oddities: coordinates up to 1 are fractions of the picture, larger ones pixels of the file, which a
model that resizes its pictures may not know; `coordinates=thousandths` asks for, and reads, numbers
from 0 to 1000. VLMEvalKit's box ends one pixel earlier in versions 1 and 2, and a reply without a
point means the upper left corner there. The authors' scripts (`--rule official`) take fractions
alone. VLMEvalKit's Text_Accuracy and Icon_Accuracy over several groups weigh each group by the
square of its size; here every question weighs the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import open_answers, parse_raw_reply
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.perception.screenspot.rows import (
    GROUPS,
    ONE,
    PART,
    PARTS,
    PLATFORM_ELEMENT,
    PRO,
    TWO,
    VERSION,
    Target,
    names_elsewhere,
    parse_target,
    published_files,
    to_common_layout,
)
from snellen.benchmarks.protocol.flows import OpenScoring, parse_choice_by_rules, parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import OFFICIAL, OWN, VLMEVALKIT, ParserSet
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.benchmark import Variant
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import Metric, Summary
from snellen.extract.points import Point, parse_point, read_point
from snellen.extract.published.screenspot import point_pro, point_seeclick, point_vlmevalkit
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.grouped import interval_of_mean, sums_by_label

COORDINATES = "coordinates"
FRACTIONS, PIXELS, THOUSANDTHS = "fractions", "pixels", "thousandths"
MEAN = "mean_of_platforms_and_elements"
_CELL_COUNT = 6
_MAX_NEW_TOKENS = 256
_SCALES = {
    FRACTIONS: "x and y are fractions of the picture's width and height, between 0 and 1.",
    PIXELS: "x and y are pixels of the picture, from its left and upper edge.",
    THOUSANDTHS: "x and y run from 0 to 1000 over the picture's width and height.",
}

ReadPoint = Callable[[str], Point | None]


def _template(scale: str) -> PromptTemplate:
    return PromptTemplate(
        frame="This is a screenshot. Click on the element for the following instruction.\n"
        "{question}\n"
        f"Answer with the point alone, as pyautogui.click(x=?, y=?); {_SCALES[scale]}"
    )


def _to_fractions(point: Point, target: Target) -> Point:
    """A point with a coordinate above 1 is in pixels."""
    if max(point) <= 1:
        return point
    return Point(point.x / target.width, point.y / target.height)


def _grade(answer: str, sample: Sample) -> float:
    target = parse_target(sample.gold[0])
    return float(target.contains(_to_fractions(read_point(answer), target)))


def _grade_vlmevalkit(inset: float, answer: str, sample: Sample) -> float:
    target, point = parse_target(sample.gold[0]), point_vlmevalkit(answer)
    return float(point is not None and target.contains(_to_fractions(point, target), inset))


def _grade_official(read: ReadPoint, answer: str, sample: Sample) -> float:
    point = read(answer)
    return float(point is not None and parse_target(sample.gold[0]).contains(point))


def _parse_vlmevalkit(reply: str, stop_reason: str) -> Answer:
    """The whole reply; an empty one is a point, too: the upper left corner."""
    return ParsedAnswer(reply, "raw reply")


def _parse_point(reply: str, stop_reason: str) -> Answer:
    return parse_point(reply, stop_reason=stop_reason)


def _rules(version: str) -> dict[str, ParserSet]:
    pro = version == PRO
    scorings = {
        OWN: OpenScoring(_parse_point, _grade),
        VLMEVALKIT: OpenScoring(_parse_vlmevalkit, partial(_grade_vlmevalkit, 0.0 if pro else 1.0)),
        OFFICIAL: OpenScoring(parse_raw_reply, partial(_grade_official, point_pro if pro else point_seeclick)),
    }
    return {
        rule: ParserSet(parse_choice_by_rules, parse_yes_no_by_words, scoring) for rule, scoring in scorings.items()
    }


def _for_variant(declaration: Declaration, variant: Variant) -> Declaration:
    """The rules of the version and the prompt of the scale. In thousandths the gold boxes are, too,
    unless a published rule reads the replies, which knows no such scale."""
    version = variant.options.get(VERSION, ONE)
    scale = variant.options.get(COORDINATES, FRACTIONS)
    thousandths = variant.rule in (None, OWN) and scale == THOUSANDTHS
    return replace(
        declaration,
        template=_template(scale) if scale in _SCALES else None,
        adjust_row=partial(to_common_layout, pro=version == PRO, thousandths=thousandths),
        scoring=open_answers("accuracy", _rules(version)),
    )


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The accuracy, with the mean of the six cells of platform and element beside it."""
    summary = context.plain(records)
    cells = summary.groups.get(PLATFORM_ELEMENT, {})
    values = [metric.value for metric in cells.values() if metric.value is not None]
    if summary.headline.value is None or len(values) != _CELL_COUNT:
        return summary
    sums = sums_by_label(records, PLATFORM_ELEMENT, context.failures)
    interval = interval_of_mean(list(sums.values()))
    mean = Metric(MEAN, sum(values) / _CELL_COUNT, summary.n, interval)
    return structs.replace(summary, metrics={**summary.metrics, MEAN: mean}, beside=(MEAN, *summary.beside))


BENCHMARK = Declaration(
    name="screenspot",
    version="2",
    title="ScreenSpot, elements of user interfaces",
    paper="https://arxiv.org/abs/2401.10935",
    provenance="ScreenSpot (Apache-2.0), ScreenSpot-v2 and ScreenSpot-Pro (as their authors' pages "
    "say), as VLMEvalKit's TSV files and lmms-eval's data sets",
    data=Published({VERSION: (ONE, TWO, PRO), PART: PARTS}, published_files()),
    aliases=names_elsewhere(),
    other_tools={
        "screenspot": OtherToolName(
            "lmms-eval", "is two tasks: the box for an instruction, and the instruction for a box"
        )
    },
    options={COORDINATES: tuple(_SCALES)},
    adjust_row=to_common_layout,
    group_by=GROUPS,
    max_new_tokens=_MAX_NEW_TOKENS,
    for_variant=_for_variant,
    scoring=open_answers("accuracy", _rules(ONE)),
    headline=Headline(summarise=_summarise),
)

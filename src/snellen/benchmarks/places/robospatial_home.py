"""RoboSpatial-Home: whether one thing is left of, fits next to, ... another, and points in the free
space that a relation means, in rooms (Song et al. 2025, https://arxiv.org/abs/2411.16537).

Two example rows (made up): index 4, category "configuration", question "In the image, is the mug to the
left of the lamp? Answer yes or no.", answer "yes", image <base64>; index 9, category "context",
question "In the image, there is a shelf. Pinpoint several points within the vacant space above the
shelf. Your answer should be formatted as a list of tuples, ...", answer "[(0.41, 0.2), (0.6, 0.2), ...]".

The accuracy over all questions is the headline; the categories are groups. Of several points the share
in the polygon counts; the authors (`--rule official`) and lmms-eval (`--rule lmms-eval`) take one.

Oddities: the authors look at the first pair of numbers, in fractions, and a yes or no opens the reply.
lmms-eval reads a fenced list of `point_2d` in thousandths, of which one in the mask is enough, and yes
or no in the last line. What the questions of points say of the form of the answer is left out: the
closing line says it for the space that is asked for. VLMEvalKit's class of this data set counts every
point as wrong at the commit that is compared elsewhere: its reader stops for lack of a logger.
"""

from __future__ import annotations

from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.places import add_gold
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import PLACE_TYPE
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.parsers import LMMS_EVAL, OFFICIAL, OWN, ParserSet
from snellen.core.sample import Row
from snellen.extract.published.points import parse_robospatial_lmms_eval_yes_no, parse_robospatial_yes_no

_PLACE = PlaceRules(
    shape="point",
    count=0,
    gold="answer",
    gold_shape="polygon",
    gold_space="fractions",
    parse={
        OFFICIAL: "extract.published.points.parse_robospatial",
        LMMS_EVAL: "extract.published.points.parse_robospatial_lmms_eval",
    },
    grade={LMMS_EVAL: "scoring.places.published.any_inside"},
)
_FORM = "Your answer should be formatted"


def _mark_places(row: Row) -> Row:
    """Questions whose answer is a polygon ask for places, the others for yes or no."""
    if not row.cells.get("answer", "").startswith("["):
        return structs.replace(row, cells={**row.cells, "type": "yes_no"})
    question = row.cells.get("question", "").partition(_FORM)[0].strip()
    return structs.replace(row, cells={**row.cells, "question": question, "type": PLACE_TYPE})


BENCHMARK = Declaration(
    name="robospatial-home",
    version="1",
    title="RoboSpatial-Home, relations and free space in rooms",
    paper="https://arxiv.org/abs/2411.16537",
    provenance="RoboSpatial-Home of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://huggingface.co/datasets/lmms-lab-si/EASI-Leaderboard-Data/resolve/main/RoboSpatialHome.tsv",
        "e2d01075ce470bf8e06d3a16c8fa10bc",
    ),
    aliases={"RoboSpatialHome": {}, "RoboSpatial": {}, "robo_spatial_all": {}},
    group_by=("category",),
    adjust_row=_mark_places,
    adjust=partial(add_gold, _PLACE),
    scoring=RuleScoring(
        rules={
            OWN: ParserSet(),
            OFFICIAL: ParserSet(yes_no=parse_robospatial_yes_no),
            LMMS_EVAL: ParserSet(yes_no=parse_robospatial_lmms_eval_yes_no),
        },
        metric="accuracy",
        place=_PLACE,
    ),
)

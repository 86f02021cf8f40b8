"""MMVM benchmark: the same object in two pictures or frames (Zhou et al. 2025,
https://arxiv.org/abs/2501.04670).

One example row (made up): index 0, question "Object 1 of the first picture is which object of the
second? A. object 2 B. object 3", answer "B. object 3", match_type "[1, 5]", image <list of base64>.

Oddities: `match_type` lists by what an object can be recognised, and a question counts under each:
1 colour (CL), 2 shape or posture (SP), 3 text or logo (TM), 4 size (SZ), 5 relative position (RP),
6 orientation or movement (OO), 7 relation to what it is bound to (BR), 8 markers (OM). VLMEvalKit
counts a cell that it cannot read as 1 and 5, and an unknown number as 2; here they have no type.

A judge says whether a reply is right; there is no score without one. VLMEvalKit takes a "yes"
anywhere in the judge's words; here the last [YES] or [NO] counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.judged import judges_alone, plain_messages, split_list
from snellen.benchmarks.declaration.open_questions import BARE
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.protocol.judged_flows import JudgedScoring
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.core.sample import Row, Sample
from snellen.extract.verdicts import parse_bracketed_yes

RUBRIC = "mmvmbench"
MATCH_TYPE = "match_type"
MATCH_TYPES = ("CL", "SP", "TM", "SZ", "RP", "OO", "BR", "OM")


def _adjust(sample: Sample, row: Row) -> Sample:
    """The question under all of its types."""
    numbers = [item for item in split_list(row.cells.get(MATCH_TYPE, "")) if item.isdecimal()]
    known = [MATCH_TYPES[int(item) - 1] for item in numbers if 1 <= int(item) <= len(MATCH_TYPES)]
    groups = {name: label for name, label in sample.groups.items() if name != MATCH_TYPE}
    if known:
        groups[MATCH_TYPE] = SEPARATOR.join(dict.fromkeys(known))
    return replace(sample, groups=groups)


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    return {"question": sample.question, "gold": "".join(sample.gold), "reply": reply}


BENCHMARK = Declaration(
    name="mmvmbench",
    version="1",
    title="MMVM benchmark, the same object in two pictures",
    paper="https://arxiv.org/abs/2501.04670",
    provenance="MMVM benchmark of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/MMVMBench.tsv", "168823a449bc323bec5d309227943757"
    ),
    aliases={"MMVMBench": {}},
    kind="open",
    group_by=(MATCH_TYPE,),
    adjust=_adjust,
    template=BARE,
    scoring=judges_alone(
        JudgedScoring(rubric=RUBRIC, fields=_fields, parse=parse_bracketed_yes, build_messages=plain_messages),
        multi_label=(MATCH_TYPE,),
    ),
)

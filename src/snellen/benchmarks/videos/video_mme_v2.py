"""Video-MME-v2: 3,200 questions of eight options about 800 videos, four in a group that counts as a
whole (https://github.com/MME-Benchmarks/Video-MME-v2).

One example row: video_id "001", question_id "001-1", group_type "logic", group_structure "[1, [2,
3], 4]", level 2, second_head "Temporal Reasoning", third_head "Order", question "Who enters first?",
options "A. The cook.\\nB. The guest.\\n...\\nH. Nobody.", answer "B".

A group of type `relevance` asks one thing in four ways: of its 100 points, one right answer makes
6.25, two 25, three 56.25. In one of type `logic` the answers build on one another: those up to the
first wrong one count, where questions in brackets may be answered in either order. The headline is
the mean over the groups, `accuracy` the share of right questions; both also by level, and by heads:
those of a group are its last question's.

Oddities: VLMEvalKit and lmms-eval take the first capital A to H after some lead-ins, which they
remove in different orders (`--rule vlmevalkit`, `--rule lmms-eval`). A group with a question that has
no score has none, and is left out. Subtitles are words with their times, in files that are not read
here. `prompt=` of reasoning asks for "Final Answer: <letter>", as theirs do.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, adjust_choice
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, ParserSet
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.data.download import RemoteFile
from snellen.extract.published.first_capital import of_eight, of_eight_vlmevalkit
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.accuracy import mean_metric
from snellen.scoring.grouped import apply_failure_policy, bounds_of
from snellen.scoring.headlines import sum_of_ratios, unit_terms

HEADLINE = "group_score"
GROUP_TYPE, STRUCTURE, LOGIC = "group_type", "group_structure", "logic"
_LABELS = (GROUP_TYPE, "level", "second_head", "third_head")
_SIZE = 4
_RELEVANCE = (0.0, 1 / 16, 4 / 16, 9 / 16, 1.0)
_LOGIC: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "[1, 2, 3, 4]": _RELEVANCE,
        "[1, [2, 3], 4]": (0.0, 1 / 12, 4 / 12, 7 / 12, 1.0),
        "[[1, 2], 3, 4]": (0.0, 1 / 10, 2 / 10, 5 / 10, 1.0),
    }
)
"""By the structure of a group: what so many answers in a row are worth."""
_EITHER = {"[1, [2, 3], 4]": (1, 2), "[[1, 2], 3, 4]": (0, 1)}
"""Places of two questions that may be answered in either order: of two, the second alone counts as
one."""
TEMPLATE = PromptTemplate(
    hint="{hint}",
    question="These are the frames of a video.\nQuestion: {question}",
    options="",
    choose="Select the best answer to the following multiple-choice question based on the video. "
    "Respond with only the letter (A, B, C, D, E, F, G, or H) of the correct option.",
)


def group_score(right: Sequence[bool], group_type: str, structure: str) -> float:
    """What the answers to the four questions of a group are worth together, 0..1."""
    if group_type != LOGIC or structure not in _LOGIC:
        return _RELEVANCE[sum(right)]
    in_a_row = next((place for place, one in enumerate(right) if not one), len(right))
    either = _EITHER.get(structure)
    if either and in_a_row == either[0] and right[either[1]]:
        in_a_row += 1
    return _LOGIC[structure][in_a_row]


def _adjust(sample: Sample, row: Row) -> Sample:
    """With its group as unit, named after the video, and the structure in one way of writing."""
    sample = adjust_choice(sample, row)
    structure = row.cells.get(STRUCTURE, "")
    written = json.dumps(json.loads(structure)) if structure.startswith("[") else ""
    groups = {**sample.groups, **({STRUCTURE: written} if written else {})}
    return structs.replace(sample, groups=groups)


def _place(record: Record) -> int:
    """The number of a question in its group, behind the last hyphen of its id."""
    tail = record.id.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0


def _groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The groups whose questions all have a score, in the order of the questions."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.unscored != "no_gold":
            found[record.unit].append(record)
    ordered = {unit: sorted(group, key=_place) for unit, group in found.items()}
    return {
        unit: group
        for unit, group in ordered.items()
        if len(group) == _SIZE and all(record.score is not None for record in group)
    }


def _scores(groups: Mapping[str, Sequence[Record]]) -> dict[str, float]:
    def score(group: Sequence[Record]) -> float:
        last = group[-1].groups
        return group_score([one.score == 1.0 for one in group], last.get(GROUP_TYPE, ""), last.get(STRUCTURE, ""))

    return {unit: score(group) for unit, group in groups.items()}


def _mean(records: Sequence[Record]) -> float | None:
    scores = _scores(_groups(records)).values()
    return 100 * sum(scores) / len(scores) if scores else None


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean over groups beside the accuracy, and for each label of the groups' last questions."""
    summary = context.plain(records)
    groups = _groups(apply_failure_policy(records, context.failures))
    scores = _scores(groups)
    if summary.headline.value is None or not scores:
        headline = Metric(HEADLINE, None, len(scores), note=summary.headline.note or "no group is complete")
        return structs.replace(summary, headline=headline, metrics={HEADLINE: headline, **summary.metrics})
    headline = mean_metric(HEADLINE, list(scores.values()), list(scores))
    tables = dict(summary.groups)
    for column in _LABELS:
        labels: dict[str, list[float]] = defaultdict(list)
        for unit, group in groups.items():
            if label := group[-1].groups.get(column):
                labels[label].append(scores[unit])
        name = f"{HEADLINE} by {column}"
        tables[name] = {
            label: mean_metric(HEADLINE, values, list(map(str, range(len(values))))) for label, values in labels.items()
        }
    return structs.replace(
        summary,
        headline=headline,
        metrics={HEADLINE: headline, **summary.metrics},
        groups=tables,
        bounds=bounds_of(records, _mean),
        beside=(context.plain_headline, *summary.beside),
    )


def _sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    scores = _scores(_groups(apply_failure_policy(records, context.failures)))
    return sum_of_ratios(unit_terms(records, scores, lambda record: record.unit, HEADLINE))


BENCHMARK = Declaration(
    name="video-mme-v2",
    version="1",
    title="Video-MME-v2, groups of questions about videos",
    paper="https://github.com/MME-Benchmarks/Video-MME-v2",
    provenance="MME-Benchmarks/Video-MME-v2 on the hub, or VLMEvalKit's TSV of it",
    data=Published(
        {},
        {
            (): PublishedFile(
                "Video-MME-v2.tsv",
                RemoteFile(urls=(), md5="27826ea282386ee20d4b0054a58608db"),
                HubSplit("hf://MME-Benchmarks/Video-MME-v2?split=test"),
            )
        },
    ),
    aliases={
        "Video-MME-v2": {},
        "videomme_v2": {"sampling": "lmms-eval"},
        "Video-MME-v2_64frame": {"frames": "64", "sampling": "vlmevalkit"},
        "Video-MME-v2_1fps": {"fps": "1", "frames": "2048"},
    },
    group_by=_LABELS,
    template=TEMPLATE,
    kind="choice",
    adjust=_adjust,
    max_new_tokens=MAX_NEW_TOKENS,
    video=Video(defaults={"frames": "64"}),
    scoring=choices(vlmevalkit=PARSERS[VLMEVALKIT]._replace(choice=of_eight_vlmevalkit), lmms_eval=ParserSet(of_eight)),
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=_sums, in_circular=False),
)

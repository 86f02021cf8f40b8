"""MM-MT-Bench: conversations about a picture, graded by a judge (Agrawal et al. 2024,
https://arxiv.org/abs/2410.07073, section 4.2).

One example row (made up): conversation '[{"role": "user", "content": [{"type": "image"}, {"type":
"text", "text": "What is sold here?"}]}, {"role": "assistant", "content": "Fruit."}, ...]', category
"charts", image.

Oddities: 92 conversations of one to five turns about five kinds of pictures. Each question is asked by
itself, behind the questions and the reference answers before it, and is a sample of its own: the first has
the row's id, the others "<row>/<turn>"; those of one conversation share a cluster. A judge who sees the
picture gives 1 to 10.

The headline is the authors' micro average, the mean over all questions, from 1 to 10. Their macro
average, over categories and turns together, follows from the groups. A verdict without a grade leaves
the reply ungraded; the authors ask again without end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.judged import first_cell, judges_alone
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.protocol.judged_flows import JudgedScoring
from snellen.benchmarks.protocol.point_grading import summarise_in_points
from snellen.core.errors import DataError
from snellen.core.request import Media, Message, Part, Text
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_id
from snellen.extract.verdicts import parse_grade

RUBRIC = "mm-mt-bench"
HEADLINE = "score"
_TOP = 10.0
_EARLIER = "earlier"
"""Kept with a sample: the turns before its question, as JSON."""


def samples_of(rows: Iterable[Row]) -> Iterator[Sample]:
    """A sample for each question of each conversation. Raises DataError."""
    for row in rows:
        turns = _turns(row)
        for index in range(0, len(turns) - 1, 2):
            yield Sample(
                id=f"{row_id(row)}/{index // 2}" if index else row_id(row),
                kind="open",
                question=turns[index],
                gold=(turns[index + 1],),
                media=row.media,
                groups={"category": first_cell(row.cells, "category"), "turn": str(index // 2)},
                unit=row_id(row),
                metadata={_EARLIER: json.dumps(turns[:index], ensure_ascii=False)},
            )


def _turns(row: Row) -> list[str]:
    """The texts of a conversation, questions and answers in turn."""
    try:
        turns = [_text(turn["content"]) for turn in json.loads(first_cell(row.cells, "conversation"))]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"row {row.index + 1}: `conversation` is no list of turns with `content`, in JSON ({error})"
        ) from error
    return turns


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if part["type"] == "text")


def _messages(sample: Sample) -> tuple[Message, ...]:
    """The turns before the question, then the question; the picture opens the first."""
    texts = [*json.loads(sample.metadata[_EARLIER]), sample.question]
    media: tuple[Part, ...] = tuple(Media(ref.kind, ref.digest) for ref in sample.media)
    return tuple(
        Message("assistant" if place % 2 else "user", (*(media if place == 0 else ()), Text(text)))
        for place, text in enumerate(texts)
    )


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    texts = [*json.loads(sample.metadata[_EARLIER]), sample.question, *sample.gold]
    names = ("User", "Reference answer")
    turns = (f"{names[place % 2]}:\n{text}" for place, text in enumerate(texts))
    return {"conversation": "\n\n".join(turns), "reply": reply}


BENCHMARK = Declaration(
    name="mm-mt-bench",
    version="1",
    title="MM-MT-Bench, conversations about a picture",
    paper="https://arxiv.org/abs/2410.07073",
    provenance="MM-MT-Bench of its authors (Apache-2.0), on the hub",
    data=Published({}, {(): HubSplit("hf://mistralai/MM-MT-Bench?split=eval")}),
    aliases={"MM-MT-Bench": {}, "mm_mt_bench": {}, "MMMTBench": {}},
    samples=samples_of,
    kind="open",
    max_new_tokens=4096,
    scoring=judges_alone(
        JudgedScoring(
            rubric=RUBRIC,
            fields=_fields,
            parse=partial(parse_grade, low=1.0, high=_TOP),
            score=lambda grade: grade / _TOP,
            build_messages=_messages,
        ),
        max_judge_tokens=2048,
    ),
    headline=Headline(name=HEADLINE, summarise=partial(summarise_in_points, top=_TOP)),
    coverage="exact",
    oracle=_TOP,
)

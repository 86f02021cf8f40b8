"""Video-MMLU: lectures on mathematics, physics and chemistry (Song et al. 2025,
https://arxiv.org/abs/2504.14693).

One example row of the questions: index 0, video "a.mp4", discipline "Math", question "What does the
construction show?", answer "How odd numbers add up to squares". A row of the captions has a list of
questions for its question, as in VDC.

`part=qa` (the default) asks questions that need reasoning; `part=captions` asks for a caption, of
which a judge answers questions about what is written and shown. In both a judge says whether an
answer is right and how well it matches, 0 to 5; the headline is the share of right ones, `score`
the mean match, both also by `discipline`. There is no score without a judge, and no common number.

Oddities: as published, VLMEvalKit cannot score the questions: it looks for a column `pred_response`
that only its captions get; with the reply in that column it gives the same numbers as we. Of each
caption it keeps the verdict on one question; here all count. It draws the request for a caption
from a list, of which this is the first. The words for the judges are the authors', as VLMEvalKit
has them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import first_cell, judges_alone
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.point_grading import question_messages
from snellen.benchmarks.protocol.yes_no_scores import MatchProtocol, decode_pairs, encode_pairs, summarise_matches
from snellen.benchmarks.videos.vdc import DETAILED_REQUEST
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.prompts.choice import PromptTemplate, prompt

PART, QA, CAPTIONS = "part", "qa", "captions"
DISCIPLINE = "discipline"
_BRIEF = PromptTemplate(hint="{hint}", open="Answer briefly and directly in one sentence.")


_MATCHES = {
    QA: MatchProtocol(rubric="video-mmlu-reasoning", build_messages=partial(prompt, template=_BRIEF)),
    CAPTIONS: MatchProtocol(rubric="video-mmlu-captions", build_messages=question_messages, by_questions=True),
}
_SCORING = {part: judges_alone(matches) for part, matches in _MATCHES.items()}


def _sample(row: Row, options: Options) -> Sample | None:
    """Of the part: rows of captions have a list of questions for their question."""
    pairs = decode_pairs(first_cell(row.cells, "question"))
    if bool(pairs) != (options[PART] == CAPTIONS):
        return None
    discipline = row.cells.get(DISCIPLINE, "").strip().lower()
    return build_sample(
        row,
        question=DETAILED_REQUEST if pairs else None,
        gold=encode_pairs(pairs) if pairs else row_gold(row)[:1],
        groups={DISCIPLINE: discipline},
        unit=video_name(row),
    )


def _for_part(declaration: Declaration, variant: Variant) -> Declaration:
    part = variant.options.get(PART, QA)
    title = {QA: declaration.title, CAPTIONS: "Video-MMLU, captions of lectures"}
    return replace(
        declaration, title=title.get(part, declaration.title), scoring=_SCORING.get(part, declaration.scoring)
    )


BENCHMARK = Declaration(
    name="video-mmlu",
    version="2",
    title="Video-MMLU, questions about lectures",
    paper="https://arxiv.org/abs/2504.14693",
    provenance="Enxin/Video-MMLU on the hub, as VLMEvalKit's TSV",
    data=Published(
        {PART: (QA, CAPTIONS)},
        {
            (part,): published_tsv(f"https://huggingface.co/datasets/Enxin/Video-MMLU/resolve/main/{name}.tsv")
            for part, name in ((QA, "Video_MMLU_QA"), (CAPTIONS, "Video_MMLU_CAP"))
        },
    ),
    aliases={
        "Video_MMLU_QA": {PART: QA},
        "Video_MMLU_CAP": {PART: CAPTIONS},
        **{
            f"Video_MMLU_{name}_{count}frame": {PART: part, "frames": count, "sampling": "vlmevalkit"}
            for name, part in (("QA", QA), ("CAP", CAPTIONS))
            for count in ("16", "64")
        },
    },
    for_variant=_for_part,
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(),
    scoring=_SCORING[QA],
    headline=Headline(summarise=summarise_matches),
)

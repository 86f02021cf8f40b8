"""Video-Holmes: 1,837 multiple-choice questions about 270 suspense short films, in seven tasks of
reasoning (Cheng et al. 2025, https://arxiv.org/abs/2505.21374).

One example row: video "0at001QMutY", question_type "SR", question "Who is the man in the mirror?",
candidates ["A. A neighbour", ..., "F. Himself"], answer "F".

The seven tasks: social reasoning (SR), intention and motive chaining (IMC), temporal causal
inference (TCI), timeline analysis (TA), multimodal hint reasoning (MHR), physical anomaly reasoning
(PAR) and core theme inference (CTI). The headline is the share of right questions, as the authors
print it.

Oddities: the questions are published as one JSON document with names in words ("video ID"), of
which VLMEvalKit makes its TSV without apostrophes. The prompt is the authors', who ask for <think>
and <answer>; their options stand in one line, here each in its own. They look in the last <answer>,
or in the complete reply, for the first of A to F that a blank, a colon or an opening bracket marks,
else for any of these letters, in the order of the alphabet (`--rule official`); for VLMEvalKit a
reply without <answer> is wrong (`--rule vlmevalkit`). "<answer>Himself</answer>" is right here, and
unreadable there.
"""

from __future__ import annotations

from typing import Any

from snellen.benchmarks.declaration.declaration import Declaration, Video
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import adjust_choice
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts, Records
from snellen.extract.published.videos import parse_video_holmes, parse_video_holmes_vlmevalkit
from snellen.prompts.choice import PromptTemplate

_HOME = "https://huggingface.co/datasets/TencentARC/Video-Holmes/resolve/main/test_Video-Holmes.json"
TEMPLATE = PromptTemplate(
    hint="{hint}",
    question=(
        "Based on the given video, reason and answer the single-choice question. Provide your "
        "reasoning between the <think> and </think> tags, and then give your final answer between "
        "the <answer> and </answer> tags. The question is: {question}. The options are:"
    ),
    options="",
    option="{label}: {text}",
    choose="Your answer:",
)


def _question_records(document: Any) -> Records:
    """The rows of the authors' document, in the columns of VLMEvalKit's TSV."""
    for record in document:
        video, options = record["video ID"], record["Options"]
        yield {
            "video": video,
            "video_path": f"video/{video}.mp4",
            "candidates": [f"{label}. {text}" for label, text in sorted(options.items())],
            "question": record["Question"],
            "answer": record["Answer"],
            "question_id": record["Question ID"],
            "question_type": record["Question Type"],
            "explanation": record.get("Explanation", ""),
        }


BENCHMARK = Declaration(
    name="video-holmes",
    version="3",
    title="Video-Holmes, reasoning about suspense films",
    paper="https://arxiv.org/abs/2505.21374",
    provenance="Video-Holmes of TencentARC (Apache-2.0, for research), as VLMEvalKit's TSV",
    data=Published(
        {},
        {
            (): PublishedFile(
                "Video_Holmes.tsv",
                RemoteFile(urls=(), md5="85bdd91f9b29a99354c23b97ab7c113c"),
                JsonParts("Video_Holmes.jsonl", _HOME, (JsonPart(_HOME, records=_question_records),)),
            )
        },
    ),
    aliases={
        "Video_Holmes": {},
        "Video_Holmes_32frame": {"frames": "32", "sampling": "vlmevalkit"},
        "Video_Holmes_64frame": {"frames": "64", "sampling": "vlmevalkit"},
    },
    group_by=("question_type",),
    template=TEMPLATE,
    kind="choice",
    adjust=adjust_choice,
    max_new_tokens=2048,
    video=Video(defaults={"frames": "32"}),
    scoring=choices(official=ParserSet(parse_video_holmes), vlmevalkit=ParserSet(parse_video_holmes_vlmevalkit)),
)

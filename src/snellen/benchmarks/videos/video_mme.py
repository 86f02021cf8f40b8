"""Video-MME: 2,700 multiple-choice questions about 900 videos of 11 s to 1 h (Fu et al. 2024,
https://arxiv.org/abs/2405.21075).

One example row: question_id "001-1", videoID "fFjv93ACGo8", duration "short", domain "Knowledge",
sub_category "Humanity & History", task_type "Counting Problem", question "When demonstrating the
Germany modern Christmas tree is initially decorated with apples, candles and berries, which kind of
the decoration has the largest number?", options ["A. Apples.", "B. Candles.", "C. Berries.", "D.
The three kinds are of the same number."], answer "C".

Oddities: options bear their letters; VLMEvalKit's TSV calls them `candidates` and the video
`video_path`. The headline is without subtitles, as leaderboards print it; `subtitles=frames` shows
those of the sampled frames, which is the paper's other column. Videos and subtitles are archives of
their own: unpack them beside the data file, or in `videos/video-mme` of the cache.

The prompt is the authors'. They take the first capital letter A to D of a reply (`--rule
official`), so that "Based on the video, B" is read as B, but "A dog. B" as A, and so is
"Answer: B"; ours reads neither an article nor a word's initial as a label. A reply without such a
letter is left out by their script, and by that rule here: it counts what was answered. VLMEvalKit
takes the letter after more lead-ins (`--rule vlmevalkit`) and counts every question.
"""

from __future__ import annotations

from dataclasses import replace

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import (
    MAX_NEW_TOKENS,
    adjust_choice,
    answered_sums,
    summarise_answered,
)
from snellen.benchmarks.protocol.parsers import OFFICIAL, ParserSet
from snellen.core.benchmark import Variant
from snellen.extract.published.first_capital import of_four_joined, of_four_vlmevalkit
from snellen.extract.published.vlmevalkit import parse_yes_no_vlmevalkit
from snellen.prompts.choice import PromptTemplate

TEMPLATE = PromptTemplate(
    hint="{hint}",
    question="Select the best answer to the following multiple-choice question based on the video."
    " Respond with only the letter (A, B, C, or D) of the correct option.\n{question}",
    options="",
    choose="The best answer is:",
)


def _for_rule(declaration: Declaration, variant: Variant) -> Declaration:
    """The authors' number is of the replies that their rule can parse."""
    if variant.rule != OFFICIAL:
        return declaration
    headline = Headline(summarise=summarise_answered, sums=answered_sums)
    return replace(declaration, headline=headline)


BENCHMARK = Declaration(
    name="video-mme",
    version="6",
    title="Video-MME, short to long videos",
    paper="https://arxiv.org/abs/2405.21075",
    provenance="Video-MME (its authors' licence, academic use), the parquet file on the hub",
    data=Published({}, {(): HubSplit("hf://lmms-lab/Video-MME?split=test")}),
    aliases={
        "Video-MME": {},
        "Video-MME_8frame": {"frames": "8", "sampling": "vlmevalkit"},
        "Video-MME_64frame": {"frames": "64", "sampling": "vlmevalkit"},
        "Video-MME_8frame_subs": {"frames": "8", "sampling": "vlmevalkit", "subtitles": "frames"},
        "Video-MME_1fps": {"fps": "1", "frames": "2048"},
        "Video-MME_0.5fps": {"fps": "0.5", "frames": "2048"},
        "Video-MME_0.5fps_subs": {"fps": "0.5", "frames": "2048", "subtitles": "frames"},
        "videomme": {"sampling": "lmms-eval"},
        "videomme_w_subtitle": {"sampling": "lmms-eval", "subtitles": "frames"},
    },
    group_by=("duration", "domain", "sub_category", "task_type"),
    template=TEMPLATE,
    kind="choice",
    adjust=adjust_choice,
    max_new_tokens=MAX_NEW_TOKENS,
    video=Video(),
    scoring=choices(
        official=ParserSet(of_four_joined), vlmevalkit=ParserSet(of_four_vlmevalkit, parse_yes_no_vlmevalkit)
    ),
    for_variant=_for_rule,
)

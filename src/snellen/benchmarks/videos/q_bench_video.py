"""Q-Bench-Video: how well models see the quality of videos, multiple choice and open questions
(Zhang et al. 2024, https://arxiv.org/abs/2409.20063).

One example row of the choices: index 0, video_path "./video/1.mp4", dimensions
"['yes_no,technical', ...]", question "Is the video blurred?\\nA. Yes\\nB. No", answer "A. Yes". An
open question has no options, and a sentence for its answer.

Three parts: `part=choice` (the default), `part=open`, which a judge grades 0 to 2 and which has no
score without one, and `part=all`, the mean over both, an open reply counting half its grade. In
every part `question_type` groups the kinds of question (yes or no, what or how, open), and
`concern` what they ask about. VLMEvalKit's QBench_Video asks all and prints the means of the
question types alone.

Oddities: the options stand in the question, and the gold is a whole option; the rows of the two
files have the same ids, so that with `part=all` a question is called by its place, the choices
first, as in VLMEvalKit's file of replies. Questions about pairs of videos are not in these files.
VLMEvalKit accepts the gold's label alone or in a line of its own, the label and a dot anywhere in
the reply ("In short: A. Or B." is right for both), or the option's text up to its first dot
(`--rule vlmevalkit`). The rubric is the authors', as VLMEvalKit has it; they ask a judge five times
(`votes=5`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.golds import label_of_gold
from snellen.benchmarks.declaration.joined_files import ALL, JoinedFiles
from snellen.benchmarks.declaration.judged import RULE, Judged, first_cell, split_list
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, video_name
from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT
from snellen.benchmarks.protocol.point_grading import PointScale, point_graded_flow
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.record import Flow, Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary, SummaryContext
from snellen.data.columns import row_gold
from snellen.data.tables.options import split_inline_options
from snellen.extract.published.videos import quality_parser
from snellen.extract.verdicts import GRADE, parse_grade
from snellen.prompts.choice import PromptTemplate, prompt

NAME = "q-bench-video"
RUBRIC = "q-bench-video"
TOP = 2.0
PART, CHOICE, OPEN = "part", "choice", "open"
QUESTION_TYPE, CONCERN = "question_type", "concern"
_SEEN = (
    "You will receive several distinct frames that have been uniformly sampled from a video "
    "sequence, arranged in the same temporal order as they appear in the video.\n"
)
CHOICE_TEMPLATE = PromptTemplate(
    lead=(f"{_SEEN}Please analyze these frames and answer the question based on your observations.\n"),
    hint="{hint}",
    question="{question}",
    options="",
    choose=(
        "Please answer the question in the following format: the uppercase letter of the correct "
        "answer option itself.\nPlease do not add any other answers beyond this."
    ),
)
OPEN_TEMPLATE = PromptTemplate(
    lead=(
        f"{_SEEN}Please analyze these frames and provide a detailed and accurate answer from the "
        "perspective of visual quality based on your observations.\n"
    ),
    hint="{hint}",
    open="",
)
_PARSERS = {OWN: PARSERS[OWN], VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(choice_with_gold=quality_parser)}
_HOME = "https://huggingface.co/datasets/zhangzicheng/Q-Bench-Video/resolve/main"


def _sample(row: Row, options: Options) -> Sample | None:
    """Of the part; a question with options in its lines is a choice, others are open."""
    split = split_inline_options(row.cells.get("question", ""))
    if options[PART] not in (ALL, CHOICE if split.options else OPEN):
        return None
    golds = row_gold(row)[:1]
    return build_sample(
        row,
        kind="choice" if split.options else "open",
        question=split.question,
        options=split.options,
        gold=tuple(label_of_gold(gold, split.options) for gold in golds) if split.options else golds,
        groups=_groups(split_list(first_cell(row.cells, "dimensions"))),
        unit=video_name(row),
    )


def _groups(dimensions: Sequence[str]) -> dict[str, str]:
    """The first name is the question's type, the others are what it asks about."""
    names = [part for name in dimensions for part in split_list(name)]
    concerns = {CONCERN: SEPARATOR.join(dict.fromkeys(names[1:]))} if names[1:] else {}
    return {QUESTION_TYPE: names[0], **concerns} if names else {}


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Choices are read by the rule, open replies graded by the judges."""
    read = partial(parse_grade, low=0.0, high=TOP, integers_only=True)
    scale = PointScale(rubric=RUBRIC, parse=read, names=(GRADE,), top=TOP)
    graded = point_graded_flow(settings, panel, lambda sample: scale, partial(prompt, template=OPEN_TEMPLATE))
    parsers = _PARSERS[options[RULE]]
    config = AskConfig(
        settings,
        choice=parsers.choice,
        choice_with_gold=parsers.choice_with_gold,
        template=CHOICE_TEMPLATE,
        by_meaning=parsers.by_meaning,
    )
    asked = SinglePassFlow(config)
    return lambda sample: asked(sample) if sample.kind == "choice" else graded(sample)


_JUDGED = Judged(
    flow=_flow, rubrics=(RUBRIC,), must_judge=True, multi_label=(CONCERN,), rules=_PARSERS, max_judge_tokens=64
)


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The summary; without a judge it has no score, since it would be that of the choices alone."""
    summary = context.plain(records)
    if context.judges:
        return summary
    headline = structs.replace(summary.headline, value=None, interval=None)
    return structs.replace(summary, headline=headline, metrics={**summary.metrics, headline.name: headline})


def _for_part(declaration: Declaration, variant: Variant) -> Declaration:
    if variant.options.get(PART, CHOICE) == CHOICE:
        return declaration
    return replace(
        declaration,
        template=None,
        max_new_tokens=None,
        scoring=_JUDGED,
        headline=Headline(name="score", summarise=_summarise),
        title="Q-Bench-Video, choices and open questions about the quality of videos",
    )


_FILES = Published(
    {PART: (CHOICE, OPEN)},
    {
        (part,): published_tsv(f"{_HOME}/{name}.tsv", md5)
        for part, name, md5 in (
            (CHOICE, "qbenchvideo_single_MCQ", "9d6760d75fa80aa9fd5e5cf1ea274ace"),
            (OPEN, "qbenchvideo_single_VQA", "49e6181b341c934d0b33ec78bdcc0a3d"),
        )
    },
)


BENCHMARK = Declaration(
    name=NAME,
    version="3",
    title="Q-Bench-Video, multiple choice about the quality of videos",
    paper="https://arxiv.org/abs/2409.20063",
    provenance="zhangzicheng/Q-Bench-Video on the hub, as VLMEvalKit's TSV",
    data=JoinedFiles(name=NAME, option=PART, values=(CHOICE, OPEN, ALL), published=_FILES),
    aliases={
        "QBench_Video": {PART: ALL},
        "QBench_Video_MCQ": {PART: CHOICE},
        "QBench_Video_VQA": {PART: OPEN},
        "QBench_Video_8frame": {PART: ALL, "frames": "8", "sampling": "vlmevalkit"},
        "QBench_Video_16frame": {PART: ALL, "frames": "16", "sampling": "vlmevalkit"},
    },
    for_variant=_for_part,
    sample=_sample,
    requires=REQUIRES_TEXT,
    template=CHOICE_TEMPLATE,
    max_new_tokens=MAX_NEW_TOKENS,
    video=Video(defaults={"frames": "16"}, search_cache=False),
    scoring=choices(vlmevalkit=_PARSERS[VLMEVALKIT]),
)

"""MMBench-Video: some 2,000 open questions about some 600 videos from the web (Fang et al. 2024,
https://arxiv.org/abs/2406.14515).

One example row: index 0, video "one_processed", video_path "./video/one_processed.mp4", question
"What colour is the boat?", answer "It is white.", dimensions "['Attribute Recognition']".

A judge marks how near a reply is to the reference, 0 to 3; the headline is the mean over
all questions, 0..3. A question counts once under each of its 26 dimensions, and once in each of the
nine abilities and in perception or reasoning where one of its dimensions is.

Oddities: the videos lie in pickles on the hub, which are not opened here: VLMEvalKit writes them as
MP4 files; keep these beside the TSV. Each question is asked alone ("nopack"), as leaderboards do;
`pack=on` asks all questions of a video at once, and a question that the reply leaves out is worth
nothing. VLMEvalKit cuts such an answer at its first colon where the object is not well formed, and
cannot read the bare reply to a single question; here both are read. A verdict that cannot be read
leaves the sample ungraded; VLMEvalKit counts it as 0 in the headline. Prompts and rubric are the
authors', as VLMEvalKit has them (`dataset/mmbench_video.py`). There is no score without a judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import Judged, first_cell, split_list
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.point_grading import BARE_TEMPLATE, PointScale, point_graded_flow, summarise_in_points
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.errors import UsageError
from snellen.core.record import Flow
from snellen.core.request import Generation, Message
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.extract.verdicts import GRADE, parse_grade, parse_object
from snellen.prompts.choice import prompt

_FRAMES = (
    "\nYou will be provided with {count} separate frames uniformly sampled from a video, the "
    "frames are provided in chronological order of the video.\n"
)
_SINGLE_QUESTION = (
    "Please analyze these images and provide the answer to the question about the video content.\n"
    "Please directly reply with your response to the only question.\n"
)
_SYSTEM = "You are an AI assistant responsible for answering questions about videos."
_ALL_QUESTIONS = (
    "Please analyze these images and provide the answer / answers to the following question / "
    "questions about the video content.\n"
    "If multiple questions are provided (with indices I1, I2, I3, ...), you should organize your "
    "answers in the following json format:\n"
    "{\n    'I1': 'Answer to Question I1',\n    'I2': 'Answer to Question I2',\n    ...\n}\n"
    "Otherwise, please directly reply with your response to the only question.\n"
    "Even if the information in these separate frames is not enough to give an answer,\n"
    "PLEASE GIVE A RESPONSE TO EACH OF THE QUESTIONS IN THE FORMAT DESCRIBED ABOVE.\n"
)
_LINE = re.compile(r"""^\s*["']?(?P<id>[^"':\n]+?)["']?\s*:\s*(?P<answer>.+?)\s*$""", re.MULTILINE)
_SIDES = " ,\"'{}"


def single_messages(sample: Sample) -> tuple[Message, ...]:
    """A note on the number of frames, the frames, then the question. For a native video, or
    without media, the question comes first."""
    count = sum(ref.kind == "image" for ref in sample.media)
    if not count:
        places = "".join(f"<image {number + 1}>" for number in range(len(sample.media)))
        return _verbatim_messages(sample, f"{sample.question}{places}", sample.hint)
    question_text = f"Question: {sample.question}\nAnswer: "
    return _frame_messages(sample, _FRAMES.format(count=count) + _SINGLE_QUESTION, sample.hint, question_text)


def pack_messages(sample: Sample) -> tuple[Message, ...]:
    """The frames, then every question about the video; the last line of the hint holds them (see
    `add_pack`). The same for all of these questions, so a model is asked once."""
    hint, _, questions = sample.hint.rpartition("\n")
    count = sum(ref.kind == "image" for ref in sample.media)
    questions_text = f"Questions: \n{questions}\nAnswers: \n"
    return _frame_messages(sample, _SYSTEM + _FRAMES.format(count=count) + _ALL_QUESTIONS, hint, questions_text)


def add_pack(samples: Iterable[Sample]) -> list[Sample]:
    """The samples, each with all questions about its video as its hint: an object of ids."""
    sample_list = list(samples)
    questions: dict[str, dict[str, str]] = {}
    for sample in sample_list:
        questions.setdefault(sample.unit, {})[sample.id] = sample.question
    return [structs.replace(sample, hint=json.dumps(questions[sample.unit])) for sample in sample_list]


def find_answer_in_pack(sample: Sample, reply: str) -> str | None:
    """Find the answer to the sample's question in a reply to all questions of the video.

    By its id in the object, or in the lines of an object that is malformed; None if it is missing.
    The reply to a single question may be bare.
    """
    answers = _answers_by_id(reply)
    if sample.id in answers:
        return answers[sample.id]
    questions = msgspec.json.decode(sample.hint.rpartition("\n")[2], type=dict[str, str])
    return reply if len(questions) == 1 and not answers else None


def _answers_by_id(reply: str) -> Mapping[str, str]:
    reply_object = parse_object(reply)
    if reply_object is not None:
        return {str(key).strip(): str(value) for key, value in reply_object.items()}
    lines = reply.partition("{")[2]
    return {match["id"].strip(): answer for match in _LINE.finditer(lines) if (answer := match["answer"].strip(_SIDES))}


def _frame_messages(sample: Sample, note: str, hint: str, question: str) -> tuple[Message, ...]:
    """The frames stand after the note, but those that the hint names (with their times)."""
    frames = range(1, len(sample.media) + 1)
    image_tags = "" if "<image" in hint else "".join(f"<image {number}>" for number in frames)
    between = f"{hint}\n" if hint else ""
    return _verbatim_messages(sample, f"{note}{image_tags}{between}{question}", "")


def _verbatim_messages(sample: Sample, question: str, hint: str) -> tuple[Message, ...]:
    return prompt(structs.replace(sample, question=question, hint=hint), template=BARE_TEMPLATE)


NAME = "mmbench-video"
RUBRIC = "mmbench-video"
TOP = 3.0
DIMENSION, ABILITY, SIDE = "dimension", "ability", "perception or reasoning"
_PACK = {"pack": ("off", "on")}
_FRAME_OPTIONS = {
    "8frame": {"frames": "8", "sampling": "vlmevalkit"},
    "16frame": {"frames": "16", "sampling": "vlmevalkit"},
    "64frame": {"frames": "64", "sampling": "vlmevalkit"},
    "1fps": {"fps": "1", "frames": "2048"},
}
_PACK_TOKENS = 2048
ABILITIES: Mapping[str, tuple[str, ...]] = {
    "CP": ("Video Topic", "Video Emotion", "Video Scene", "Video Style"),
    "FP-S": ("OCR", "Object Recognition", "Attribute Recognition", "Event Recognition", "Human Motion", "Counting"),
    "FP-C": ("Spatial Relationship", "Human-object Interaction", "Human Interaction"),
    "HL": ("Hallucination",),
    "LR": ("Structuralized Image-Text Understanding", "Mathematical Calculation"),
    "AR": ("Physical Property", "Function Reasoning", "Identity Reasoning"),
    "RR": ("Natural Relation", "Physical Relation", "Social Relation"),
    "CSR": ("Common Sense Reasoning",),
    "TR": ("Counterfactual Reasoning", "Causal Reasoning", "Future Prediction"),
}
"""The paper's nine abilities and their 26 dimensions."""
_PERCEPTION = frozenset({"CP", "FP-S", "FP-C", "HL"})


def _sample(row: Row, options: Options) -> Sample:
    """With its dimensions and the abilities these belong to."""
    groups = _groups(split_list(first_cell(row.cells, "dimensions")))
    return build_sample(row, gold=row_gold(row)[:1], groups=groups, unit=video_name(row))


def _groups(dimensions: tuple[str, ...]) -> dict[str, str]:
    abilities = [
        ability
        for ability, members in ABILITIES.items()
        if {name.lower() for name in members} & {name.lower() for name in dimensions}
    ]
    sides = dict.fromkeys("Perception" if ability in _PERCEPTION else "Reasoning" for ability in abilities)
    groups = {DIMENSION: dimensions, ABILITY: abilities, SIDE: sides}
    return {column: SEPARATOR.join(labels) for column, labels in groups.items()}


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    read = partial(parse_grade, low=0.0, high=TOP, integers_only=True)
    marking = PointScale(rubric=RUBRIC, parse=read, names=(GRADE,), top=TOP)
    if options["pack"] == "on":
        return point_graded_flow(settings, panel, lambda sample: marking, pack_messages, find_answer_in_pack)
    return point_graded_flow(settings, panel, lambda sample: marking, single_messages)


def _for_pack(declaration: Declaration, variant: Variant) -> Declaration:
    """`pack=on` asks all questions about a video at once."""
    if variant.options.get("pack") != "on":
        return declaration
    if variant.options.get("video") == "native":
        raise UsageError(f"{NAME}:pack=on asks about frames; with video=native every question is asked alone")
    return replace(declaration, sample=None, samples=_pack_samples, max_new_tokens=_PACK_TOKENS)


def _pack_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    return iter(add_pack(_sample(row, {}) for row in rows))


BENCHMARK = Declaration(
    name=NAME,
    version="5",
    title="MMBench-Video, open questions marked 0 to 3 by a judge",
    paper="https://arxiv.org/abs/2406.14515",
    provenance="MMBench-Video of OpenCompass (CC BY 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://huggingface.co/datasets/opencompass/MMBench-Video/resolve/main/MMBench-Video.tsv",
        "98f7df3eb1007fc375ea6fe88a98e2ff",
    ),
    aliases={
        "MMBench-Video": {},
        **{f"MMBench_Video_{name}_nopack": frame_options for name, frame_options in _FRAME_OPTIONS.items()},
        **{
            f"MMBench_Video_{name}_pack": {**frame_options, "pack": "on"}
            for name, frame_options in _FRAME_OPTIONS.items()
        },
    },
    options=_PACK,
    for_variant=_for_pack,
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(),
    scoring=Judged(
        flow=_flow, rubrics=(RUBRIC,), must_judge=True, multi_label=(DIMENSION, ABILITY, SIDE), max_judge_tokens=64
    ),
    headline=Headline(name="overall", summarise=partial(summarise_in_points, top=TOP)),
    oracle=TOP,
)

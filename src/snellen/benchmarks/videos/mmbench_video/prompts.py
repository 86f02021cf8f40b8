"""What MMBench-Video's authors show and say: a question about frames alone, or all questions about
a video at once ("pack").

The fixed strings are those of VLMEvalKit (`dataset/mmbench_video.py`), whose authors made the
benchmark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import structs

from snellen.benchmarks.protocol.point_grading import BARE_TEMPLATE
from snellen.core.request import Message
from snellen.core.sample import Sample
from snellen.extract.verdicts import parse_object
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

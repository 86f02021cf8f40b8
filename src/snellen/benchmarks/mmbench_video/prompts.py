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

from snellen.benchmarks.protocol.point_grading import BARE
from snellen.core.message import Message
from snellen.core.sample import Sample
from snellen.extract.verdicts import read_object
from snellen.prompts.choice import prompt

_FRAMES = (
    "\nYou will be provided with {count} separate frames uniformly sampled from a video, the "
    "frames are provided in chronological order of the video.\n"
)
_ONE = (
    "Please analyze these images and provide the answer to the question about the video content.\n"
    "Please directly reply with your response to the only question.\n"
)
_SYSTEM = "You are an AI assistant responsible for answering questions about videos."
_SEVERAL = (
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


def alone(sample: Sample) -> tuple[Message, ...]:
    """The frames after a note how many they are, then the question; of a whole video, or where
    nothing is shown, the question before it."""
    count = sum(ref.kind == "image" for ref in sample.media)
    if not count:
        places = "".join(f"<image {number + 1}>" for number in range(len(sample.media)))
        return _as_written(sample, f"{sample.question}{places}", sample.hint)
    asked = f"Question: {sample.question}\nAnswer: "
    return _framed(sample, _FRAMES.format(count=count) + _ONE, sample.hint, asked)


def packed(sample: Sample) -> tuple[Message, ...]:
    """The frames, then every question about the video; the last line of the hint holds them (see
    `pack`). The same for all of these questions, so a model is asked once."""
    hint, _, questions = sample.hint.rpartition("\n")
    count = sum(ref.kind == "image" for ref in sample.media)
    asked = f"Questions: \n{questions}\nAnswers: \n"
    return _framed(sample, _SYSTEM + _FRAMES.format(count=count) + _SEVERAL, hint, asked)


def pack(samples: Iterable[Sample]) -> list[Sample]:
    """The samples, each with all questions about its video as its hint: an object of ids."""
    held = list(samples)
    questions: dict[str, dict[str, str]] = {}
    for one in held:
        questions.setdefault(one.unit, {})[one.id] = one.question
    return [structs.replace(one, hint=json.dumps(questions[one.unit])) for one in held]


def answer_in_pack(sample: Sample, reply: str) -> str | None:
    """The answer to the sample's question in a reply to all: by its id in the object, or in the
    lines of one that is not well formed. None where it is not there. The reply to a single
    question may be bare."""
    found = _answers(reply)
    if sample.id in found:
        return found[sample.id]
    questions = msgspec.json.decode(sample.hint.rpartition("\n")[2], type=dict[str, str])
    return reply if len(questions) == 1 and not found else None


def _answers(reply: str) -> Mapping[str, str]:
    told = read_object(reply)
    if told is not None:
        return {str(key).strip(): str(value) for key, value in told.items()}
    lines = reply.partition("{")[2]
    return {
        one["id"].strip(): answer
        for one in _LINE.finditer(lines)
        if (answer := one["answer"].strip(_SIDES))
    }


def _framed(sample: Sample, note: str, hint: str, asked: str) -> tuple[Message, ...]:
    """The frames stand after the note, but those that the hint names (with their times)."""
    frames = range(1, len(sample.media) + 1)
    places = "" if "<image" in hint else "".join(f"<image {number}>" for number in frames)
    between = f"{hint}\n" if hint else ""
    return _as_written(sample, f"{note}{places}{between}{asked}", "")


def _as_written(sample: Sample, question: str, hint: str) -> tuple[Message, ...]:
    return prompt(structs.replace(sample, question=question, hint=hint), wording=BARE)

"""Where the images of a question stand in its text: MMT-Bench's prompts for single-image and for
multi-image models (Tables A6 to A9, kept word for word in `mmt_interleaved.csv`).

Single-image models get all images at the beginning of the question, as the published file words
it; multi-image models get each image where the question speaks of it ("the query: <image>in the
candidates: Candidate 1: <image>, ..."). The tables word 9 of the 28 subtasks alike for both.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from msgspec.structs import replace

from snellen.core.sample import Sample

_IMAGE = "<image>"
_FIELDS = {r"\{words\}": r"(?P<words>.+?)", r"\{number\}": r"\d+"}


class Rewording(NamedTuple):
    images_first: re.Pattern[str]
    interleaved: str


def images_at_the_start(sample: Sample) -> Sample:
    """All images at the beginning of the question, after the word "Question:"."""
    if not sample.media or "<image" in sample.question:
        return sample
    images = "".join(f"<image {number}>" for number in range(1, len(sample.media) + 1))
    return replace(sample, question=images + sample.question)


def interleaved(sample: Sample, subtask: str) -> Sample:
    """Each image where the question speaks of it; at the beginning, where the paper has them
    there, and where the question is not worded as in the paper."""
    rewording = _rewordings().get(subtask)
    match = rewording.images_first.search(sample.question) if rewording else None
    if rewording is None or match is None or len(sample.media) < 2:
        return images_at_the_start(sample)
    told = _filled(rewording.interleaved, len(sample.media), match.groupdict().get("words", ""))
    if told.count(_IMAGE) != len(sample.media):
        return images_at_the_start(sample)
    question = sample.question[: match.start()] + told + sample.question[match.end() :]
    numbers = iter(range(1, len(sample.media) + 1))
    numbered = re.sub(_IMAGE, lambda _: f"<image {next(numbers)}>", question)
    return replace(sample, question=numbered)


def _filled(template: str, images: int, words: str) -> str:
    left = max(0, images - template.count(_IMAGE))
    lists = {
        "{candidates}": ", ".join(f"Candidate {at}: {_IMAGE}" for at in range(1, left + 1)),
        "{indexed}": ", ".join(f"Image {at}: {_IMAGE}" for at in range(left)),
        "{images}": _IMAGE * left,
    }
    for field, listed in lists.items():
        template = template.replace(field, listed)
    return template.replace("{words}", words)


@functools.cache
def _rewordings() -> Mapping[str, Rewording]:
    table = files("snellen.benchmarks") / "data" / "mmt_interleaved.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return {
        row["subtask"]: Rewording(_pattern(row["images_first"]), row["interleaved"]) for row in rows
    }


def _pattern(text: str) -> re.Pattern[str]:
    """The paper's words, whatever the line breaks between them."""
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    for field, found in _FIELDS.items():
        pattern = pattern.replace(field, found)
    return re.compile(pattern, re.DOTALL)

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


def put_images_first(sample: Sample) -> Sample:
    """All images at the beginning of the question, after the word "Question:"."""
    if not sample.media or "<image" in sample.question:
        return sample
    images = "".join(f"<image {number}>" for number in range(1, len(sample.media) + 1))
    return replace(sample, question=images + sample.question)


def interleave_images(sample: Sample, subtask: str) -> Sample:
    """Put each image where the question mentions it; at the beginning if the paper does, or if
    the question is not worded as in the paper."""
    rewording = _rewordings().get(subtask)
    match = rewording.images_first.search(sample.question) if rewording else None
    if rewording is None or match is None or len(sample.media) < 2:
        return put_images_first(sample)
    rewritten = _fill_template(rewording.interleaved, len(sample.media), match.groupdict().get("words", ""))
    if rewritten.count(_IMAGE) != len(sample.media):
        return put_images_first(sample)
    question = sample.question[: match.start()] + rewritten + sample.question[match.end() :]
    numbers = iter(range(1, len(sample.media) + 1))
    numbered = re.sub(_IMAGE, lambda _: f"<image {next(numbers)}>", question)
    return replace(sample, question=numbered)


def _fill_template(template: str, images: int, text: str) -> str:
    remaining = max(0, images - template.count(_IMAGE))
    lists = {
        "{candidates}": ", ".join(f"Candidate {index}: {_IMAGE}" for index in range(1, remaining + 1)),
        "{indexed}": ", ".join(f"Image {index}: {_IMAGE}" for index in range(remaining)),
        "{images}": _IMAGE * remaining,
    }
    for field, listed in lists.items():
        template = template.replace(field, listed)
    return template.replace("{words}", text)


@functools.cache
def _rewordings() -> Mapping[str, Rewording]:
    table = files("snellen.benchmarks") / "data" / "mmt_interleaved.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return {row["subtask"]: Rewording(_compile_words(row["images_first"]), row["interleaved"]) for row in rows}


def _compile_words(text: str) -> re.Pattern[str]:
    """The paper's words, whatever the line breaks between them."""
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    for field, group in _FIELDS.items():
        pattern = pattern.replace(field, group)
    return re.compile(pattern, re.DOTALL)

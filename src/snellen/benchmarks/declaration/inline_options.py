"""Options inside the question, one a line ("A. red"), in data without option columns."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"\(?([A-Z])[.):]\s*(.*\S)\s*")
_LABEL_PREFIX = re.compile(r"\(?([A-Z])[.):]\s+|\(([A-Z])\)\s*")


class SplitQuestion(NamedTuple):
    """A question without its options, and the options by label."""

    question: str
    options: dict[str, str]


def split_inline_options(question: str) -> SplitQuestion:
    """Split off the lines at the end of a question that are labelled A, B, C, ... in this order.

    A question without at least two such lines has no options and stays as it is.
    """
    lines = question.rstrip().splitlines()
    matches = [_LINE.fullmatch(line.strip()) for line in lines]
    for start, match in enumerate(matches):
        if match is None or match[1] != "A":
            continue
        labelled = [match for match in matches[start:] if match is not None]
        labels = "".join(match[1] for match in labelled)
        complete = len(labelled) == len(matches) - start >= 2
        if complete and labels == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(labels)]:
            stem = "\n".join(lines[:start]).rstrip()
            return SplitQuestion(stem, {match[1]: match[2] for match in labelled})
    return SplitQuestion(question, {})


def strip_label(text: str, label: str) -> str:
    """The text of an option without its own label: "red" of "A. red" or "(A) red"."""
    match = _LABEL_PREFIX.match(text)
    return text[match.end() :] if match and label in match.groups() else text


def label_of(gold: str) -> str | None:
    """The label at the beginning of a gold answer: A of "A. red", "(A) red" and "A"."""
    bare = gold.strip()
    if len(bare) == 1 and bare.isascii() and bare.isupper():
        return bare
    match = _LABEL_PREFIX.match(bare)
    return next((label for label in match.groups() if label), None) if match else None

"""What a model is sent and what it must reply: a JSON object of an item's texts by key.

The keys are those of the paper's Figure 19 (MMBench, arXiv:2307.06281): `Q` for the question, the
label of each option; and `Hint`, `Answer`, `Answer 2`, ... for what the figure does not show.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.sample import Sample

QUESTION, HINT, ANSWER = "question", "hint", "answer"
FIELDS = (QUESTION, HINT, "options", ANSWER)
"""What can be translated; `answer` is the gold of open questions."""
DEFAULT_FIELDS = FIELDS[:3]
_KEYS = {QUESTION: "Q", HINT: "Hint", ANSWER: "Answer"}
_LABEL = re.compile(r"[A-Z]")


def texts_of(sample: Sample, fields: Iterable[str] = DEFAULT_FIELDS) -> dict[str, str]:
    """The texts of a sample that are translated, by field: `question`, `hint`, `A`, `B`, ...,
    `answer`, `answer 2`, ....

    The gold of a question with options is a label, and that of a yes/no question Yes or No in every
    language: neither is a text.
    """
    chosen = set(fields)
    texts: dict[str, str] = {}
    if QUESTION in chosen:
        texts[QUESTION] = sample.question
    if HINT in chosen:
        texts[HINT] = sample.hint
    if "options" in chosen:
        texts |= sample.options
    if ANSWER in chosen and sample.kind == "open" and not sample.options:
        texts |= {answer_field(index): gold for index, gold in enumerate(sample.gold)}
    return {name: text for name, text in texts.items() if text.strip()}


def answer_field(index: int) -> str:
    """The field of the accepted answer at an index."""
    return ANSWER if index == 0 else f"{ANSWER} {index + 1}"


def key_of(field: str) -> str:
    """The key of a field in the JSON object."""
    if field in _KEYS or _LABEL.fullmatch(field):
        return _KEYS.get(field, field)
    return field.capitalize()


def write_texts(texts: Mapping[str, str]) -> str:
    """The JSON object of texts, as Figure 19 writes it."""
    return json.dumps({key_of(field): text for field, text in texts.items()}, ensure_ascii=False)


@functools.lru_cache(maxsize=256)
def reply_form(fields: tuple[str, ...]) -> type[Struct]:
    """The type of a reply: a text for each of these fields, and no other key."""
    members: list[tuple[str, type, Any]] = [
        (f"field_{number}", str, msgspec.field(name=key_of(field)))
        for number, field in enumerate(fields)
    ]
    return msgspec.defstruct("TranslatedTexts", members, forbid_unknown_fields=True, frozen=True)


def texts_of_reply(reply: Struct, fields: tuple[str, ...]) -> dict[str, str]:
    """The texts of a reply of `reply_form(fields)`, by field."""
    return {
        field: str(getattr(reply, f"field_{number}")).strip() for number, field in enumerate(fields)
    }


class MeaningVerdict(Struct, frozen=True):
    """What a judge replies about a translation."""

    same: bool
    differences: tuple[str, ...] = ()

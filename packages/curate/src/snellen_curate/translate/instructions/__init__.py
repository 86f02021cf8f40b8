"""What a model is sent and what it must reply.

The prompts are data: that of the paper for English to Chinese, a general one, and the judge's.
Their digest is recorded with every step that uses them. The reply is a JSON object of an item's
texts by key; the keys are those of the paper's Figure 19 (MMBench, arXiv:2307.06281): `Q` for the
question, the label of each option; and `Hint`, `Answer`, `Answer 2`, ... for what the figure does
not show.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.request import Message, Text, user
from snellen.core.sample import Sample
from snellen_curate.translate.languages import Language
from snellen_curate.translate.pair import bare_text
from snellen_curate.translate.terms import has_term

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
        (f"field_{number}", str, msgspec.field(name=key_of(field))) for number, field in enumerate(fields)
    ]
    return msgspec.defstruct("TranslatedTexts", members, forbid_unknown_fields=True, frozen=True)


def texts_of_reply(reply: Struct, fields: tuple[str, ...]) -> dict[str, str]:
    """The texts of a reply of `reply_form(fields)`, by field."""
    return {field: str(getattr(reply, f"field_{number}")).strip() for number, field in enumerate(fields)}


class MeaningVerdict(Struct, frozen=True):
    """What a judge replies about a translation."""

    same: bool
    differences: tuple[str, ...] = ()


_PAPER = "mmbench-en-zh"
_GENERAL = "general"
_JUDGE = "same-meaning"


@dataclass(frozen=True)
class Instruction:
    """A prompt that is filled in with an item's texts."""

    name: str
    text: str
    digest: str
    """SHA-256 of the file, in hex."""
    notes: Mapping[str, str]
    examples: str = ""
    """The in-context examples, filled in."""


def choose_instruction(source: Language, target: Language) -> Instruction:
    """The paper's prompt for English to Simplified Chinese, the general one for all others."""
    return load_instruction(_PAPER if (source.tag, target.tag) == ("en", "zh") else _GENERAL)


@functools.cache
def load_instruction(name: str) -> Instruction:
    """Read a prompt by the name of its file."""
    data = (files("snellen_curate.translate.instructions") / f"{name}.toml").read_bytes()
    table = tomllib.loads(data.decode())
    examples = "".join(
        table["example"]
        .lstrip("\n")
        .format(number=number, source=_as_json(example["source"]), target=_as_json(example["target"]))
        for number, example in enumerate(table.get("examples", ()), 1)
    )
    return Instruction(
        name=name,
        text=table["text"].strip("\n"),
        digest=hashlib.sha256(data).hexdigest(),
        notes=table.get("notes", {}),
        examples=examples,
    )


def _as_json(texts: Mapping[str, str]) -> str:
    # The keys of the examples are those of the JSON object already.
    return write_texts({"question" if key == "Q" else key: text for key, text in texts.items()})


def translation_prompt(
    texts: Mapping[str, str],
    source: Language,
    target: Language,
    *,
    keep: tuple[str, ...] = (),
    glossary: Mapping[str, str] | None = None,
) -> tuple[Message, ...]:
    """The request to translate these texts, with the notes that they need."""
    instruction = choose_instruction(source, target)
    notes = "".join(f"{note}\n" for note in _notes(instruction, texts, source, target, keep, glossary or {}))
    values = {
        "{from}": source.name,
        "{to}": target.name,
        "{examples}": instruction.examples,
        "{notes}": notes,
        "{json}": write_texts(texts),
    }
    return (user(Text(_fill(instruction.text, values))),)


def judge_prompt(
    source_texts: Mapping[str, str], target_texts: Mapping[str, str], source: Language, target: Language
) -> tuple[Message, ...]:
    """The request to say whether a translation means the same."""
    values = {
        "{{": "{",
        "}}": "}",
        "{from}": source.name,
        "{to}": target.name,
        "{source}": write_texts(source_texts),
        "{target}": write_texts(target_texts),
    }
    return (user(Text(_fill(load_instruction(_JUDGE).text, values))),)


def _notes(
    instruction: Instruction,
    texts: Mapping[str, str],
    source: Language,
    target: Language,
    keep: tuple[str, ...],
    glossary: Mapping[str, str],
) -> list[str]:
    """What the model must know of these texts: terms to keep, terms of the glossary, yes and no."""
    everything = "\n".join(texts.values())
    notes = []
    kept = [term for term in keep if has_term(everything, term, source)]
    if kept:
        notes.append(instruction.notes["keep"].replace("{terms}", ", ".join(kept)))
    terms = [f"{term} = {word}" for term, word in glossary.items() if has_term(everything, term, source)]
    if terms:
        notes.append(instruction.notes["glossary"].replace("{terms}", "; ".join(terms)))
    if _needs_yes_no(texts, source):
        words = {"{yes}": target.yes or "Yes", "{no}": target.no or "No"}
        notes.append(_fill(instruction.notes["yes_no"], words))
    return notes


def _needs_yes_no(texts: Mapping[str, str], source: Language) -> bool:
    words = {bare_text(word) for word in ("yes", "no", source.yes, source.no) if word}
    if any(bare_text(text) in words for field, text in texts.items() if len(field) == 1):
        return True
    return source.asks_yes_or_no(texts.get("question", ""))


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in placeholders in one pass, so that one that occurs in a value stays as it is."""
    pattern = "|".join(map(re.escape, values))
    return re.sub(pattern, lambda match: values[match[0]], text)

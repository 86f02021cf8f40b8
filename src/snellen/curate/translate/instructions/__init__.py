"""The prompts of translation as data: that of the paper for English to Chinese, a general one, and
the judge's. Their digest is recorded with every step that uses them."""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from snellen.core.request import Message, Text, user
from snellen.curate.translate.contract import write_texts
from snellen.curate.translate.languages import Language
from snellen.curate.translate.pair import bare_text
from snellen.curate.translate.terms import has_term

_PAPER = "mmbench-en-zh"
_GENERAL = "general"
_JUDGE = "same-meaning"


@dataclass(frozen=True)
class Instruction:
    """A prompt that is filled in with an item's texts."""

    name: str
    title: str
    source: str
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
    data = (files("snellen.curate.translate.instructions") / f"{name}.toml").read_bytes()
    table = tomllib.loads(data.decode())
    examples = "".join(
        table["example"]
        .lstrip("\n")
        .format(
            number=number,
            source=_as_json(example["source"]),
            target=_as_json(example["target"]),
        )
        for number, example in enumerate(table.get("examples", ()), 1)
    )
    return Instruction(
        name=name,
        title=table["title"],
        source=table["source"],
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
    notes = "".join(
        f"{note}\n" for note in _notes(instruction, texts, source, target, keep, glossary or {})
    )
    values = {
        "{from}": source.name,
        "{to}": target.name,
        "{examples}": instruction.examples,
        "{notes}": notes,
        "{json}": write_texts(texts),
    }
    return (user(Text(_fill(instruction.text, values))),)


def judge_prompt(
    source_texts: Mapping[str, str],
    target_texts: Mapping[str, str],
    source: Language,
    target: Language,
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
    terms = [f"{term} = {word}" for term, word in glossary.items()
             if has_term(everything, term, source)]  # fmt: skip
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

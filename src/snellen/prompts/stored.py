"""Prompt templates kept as data, word for word with their source: `templates/<name>.toml`.

The SHA-256 of the file is recorded with every run that uses it.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate

CHAIN_OF_THOUGHT = "chain-of-thought"
_SHORT_DIGEST_LENGTH = 12
_STEPS_TO_PLACE = 'Think step by step first, and begin the line with your answer with "Answer:".'


class StoredTemplate(NamedTuple):
    fields: Mapping[str, Any]
    """The fields of `PromptTemplate` that the file sets."""
    chinese: Mapping[str, Any]
    """Fields that differ for questions with Chinese characters."""
    title: str
    source: str
    read_on: str
    """The day on which the source was read."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def template(self) -> PromptTemplate:
        return self.override(DEFAULT_TEMPLATE)

    def override(self, base: PromptTemplate) -> PromptTemplate:
        """The template; fields that the file does not set are those of `base`."""
        template = replace(base, **self.fields)
        return replace(template, chinese=replace(template, **self.chinese) if self.chinese else None)

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT_DIGEST_LENGTH]


@functools.cache
def load_template(name: str) -> StoredTemplate:
    """Read a template by its name."""
    data = (files("snellen.prompts") / "templates" / f"{name}.toml").read_bytes()
    table = tomllib.loads(data.decode())
    digest = hashlib.sha256(data).hexdigest()
    facts = (table["title"], table["source"], table["read"], digest)
    return StoredTemplate(table["wording"], table.get("chinese", {}), *facts)


def with_chain_of_thought(template: PromptTemplate) -> PromptTemplate:
    """The template with closing lines that ask for a chain of thought and a conclusion."""
    steps = load_template(CHAIN_OF_THOUGHT).template
    place = template.place and f"{template.place} {_STEPS_TO_PLACE}"
    return replace(
        template, choose=steps.choose, yes_no=steps.yes_no, open=steps.open, place=place, chinese=None, steps=True
    )


@functools.cache
def load_full_prompts(name: str) -> Mapping[str, str]:
    """The complete prompts of a file that holds several, by name, with `{question}` in each."""
    data = (files("snellen.prompts") / "templates" / f"{name}.toml").read_bytes()
    templates = tomllib.loads(data.decode())["templates"]
    return {key: str(text) for key, text in templates.items()}

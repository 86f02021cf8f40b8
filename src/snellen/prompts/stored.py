"""Wordings kept as data, word for word with their source: `wordings/<name>.toml`.

A file's SHA-256 is recorded with every run that used it.
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


class StoredTemplate(NamedTuple):
    fields: Mapping[str, Any]
    """Fields of `PromptTemplate` that the file gives."""
    chinese: Mapping[str, Any]
    """Those that are others for questions with Chinese characters."""
    title: str
    source: str
    read_on: str
    """Day on which the source was read."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def template(self) -> PromptTemplate:
        return self.override(DEFAULT_TEMPLATE)

    def override(self, base: PromptTemplate) -> PromptTemplate:
        """The wording; strings that the file leaves out are those of `base`."""
        wording = replace(base, **self.fields)
        return replace(wording, chinese=replace(wording, **self.chinese) if self.chinese else None)

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT_DIGEST_LENGTH]


@functools.cache
def load_template(name: str) -> StoredTemplate:
    """The wording of that name."""
    data = (files("snellen.prompts") / "wordings" / f"{name}.toml").read_bytes()
    told = tomllib.loads(data.decode())
    digest = hashlib.sha256(data).hexdigest()
    facts = (told["title"], told["source"], told["read"], digest)
    return StoredTemplate(told["wording"], told.get("chinese", {}), *facts)


def with_chain_of_thought(template: PromptTemplate) -> PromptTemplate:
    """The wording with closing lines that ask for a chain of thought and a conclusion."""
    steps = load_template(CHAIN_OF_THOUGHT).template
    return replace(
        template,
        choose=steps.choose,
        yes_no=steps.yes_no,
        open=steps.open,
        chinese=None,
        steps=True,
    )


@functools.cache
def load_full_prompts(name: str) -> Mapping[str, str]:
    """The whole prompts of a file that keeps several, by name, with `{question}` in each."""
    data = (files("snellen.prompts") / "wordings" / f"{name}.toml").read_bytes()
    templates = tomllib.loads(data.decode())["templates"]
    return {key: str(text) for key, text in templates.items()}

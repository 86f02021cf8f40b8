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

from snellen.prompts.choice import DEFAULT, Wording

CHAIN_OF_THOUGHT = "chain-of-thought"
_SHOWN_DIGITS = 12


class StoredWording(NamedTuple):
    told: Mapping[str, Any]
    """Fields of `Wording` that the file gives."""
    chinese: Mapping[str, Any]
    """Those that are others for questions with Chinese characters."""
    title: str
    source: str
    read: str
    """Day on which the source was read."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def wording(self) -> Wording:
        return self.over(DEFAULT)

    def over(self, own: Wording) -> Wording:
        """The wording; strings that the file leaves out are those of `own`."""
        wording = replace(own, **self.told)
        return replace(wording, chinese=replace(wording, **self.chinese) if self.chinese else None)

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHOWN_DIGITS]


@functools.cache
def stored_wording(name: str) -> StoredWording:
    """The wording of that name."""
    data = (files("snellen.prompts") / "wordings" / f"{name}.toml").read_bytes()
    told = tomllib.loads(data.decode())
    digest = hashlib.sha256(data).hexdigest()
    facts = (told["title"], told["source"], told["read"], digest)
    return StoredWording(told["wording"], told.get("chinese", {}), *facts)


def with_steps(wording: Wording) -> Wording:
    """The wording with closing lines that ask for a chain of thought and a conclusion."""
    steps = stored_wording(CHAIN_OF_THOUGHT).wording
    return replace(
        wording, choose=steps.choose, yes_no=steps.yes_no, open=steps.open, chinese=None, steps=True
    )


@functools.cache
def stored_templates(name: str) -> Mapping[str, str]:
    """The whole prompts of a file that keeps several, by name, with `{question}` in each."""
    data = (files("snellen.prompts") / "wordings" / f"{name}.toml").read_bytes()
    templates = tomllib.loads(data.decode())["templates"]
    return {key: str(text) for key, text in templates.items()}

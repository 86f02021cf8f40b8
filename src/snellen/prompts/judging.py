"""Prompts for judges, kept as data with their source: `judging/<name>.toml`.

The SHA-256 of the file is recorded with every run that uses it: another prompt makes another judge.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from snellen.core.request import Message, Text, user

_SHORT_DIGEST_LENGTH = 12
_FIELD = re.compile(r"\{([a-z_]+)\}")


class Rubric(NamedTuple):
    """A prompt for a judge; fields in `text` are in braces."""

    name: str
    title: str
    source: str
    system: str
    text: str
    rules: Mapping[str, str]
    """Texts that a benchmark inserts into a field, by kind of question; often empty."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT_DIGEST_LENGTH]

    def messages(self, **fields: str) -> tuple[Message, ...]:
        """The prompt with its fields filled in. Raises KeyError for a missing field."""
        # One pass, so that braces in a question or reply are never taken for fields.
        text = _FIELD.sub(lambda match: fields[match[1]], self.text)
        system = (Message("system", (Text(self.system),)),) if self.system else ()
        return (*system, user(Text(text)))


@functools.cache
def load_rubric(name: str) -> Rubric:
    """Read a rubric by its name."""
    data = (files("snellen.prompts") / "judging" / f"{name}.toml").read_bytes()
    table = tomllib.loads(data.decode())
    return Rubric(
        name,
        table["title"],
        table["source"],
        table.get("system", ""),
        table["text"].removesuffix("\n"),
        table.get("rules", {}),
        hashlib.sha256(data).hexdigest(),
    )

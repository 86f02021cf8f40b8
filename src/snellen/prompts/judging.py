"""What judges are asked, kept as data: `judging/<name>.toml`, each with its source.

A file's SHA-256 is recorded with every run that used it: another wording is another judge.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from snellen.core.message import Message, Text, user

_SHORT_DIGEST_LENGTH = 12
_FIELD = re.compile(r"\{([a-z_]+)\}")


class Rubric(NamedTuple):
    """A task for a judge; `text` names its fields in braces."""

    name: str
    title: str
    source: str
    system: str
    text: str
    rules: Mapping[str, str]
    """Texts that a benchmark puts into a field by kind of question, where there are any."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT_DIGEST_LENGTH]

    def messages(self, **fields: str) -> tuple[Message, ...]:
        """The task with its fields filled in. Raises KeyError for a field that is not given."""
        # One pass, so that braces in a question or reply are never taken for fields.
        asked = _FIELD.sub(lambda match: fields[match[1]], self.text)
        system = (Message("system", (Text(self.system),)),) if self.system else ()
        return (*system, user(Text(asked)))


@functools.cache
def load_rubric(name: str) -> Rubric:
    """The rubric of that name."""
    data = (files("snellen.prompts") / "judging" / f"{name}.toml").read_bytes()
    told = tomllib.loads(data.decode())
    return Rubric(
        name,
        told["title"],
        told["source"],
        told.get("system", ""),
        told["text"].removesuffix("\n"),
        told.get("rules", {}),
        hashlib.sha256(data).hexdigest(),
    )

"""Prompts for judges, kept as data with their source: `judging/<name>.toml`.

The SHA-256 of the file is recorded with every run that uses it: another prompt makes another judge.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.errors import UnknownName, UsageError
from snellen.core.request import Media, Message, Part, Text, user
from snellen.core.sample import MediaRef

MediaPlace = Literal["none", "before", "after"]
"""Where a judge is shown the images of the question: not at all, before the text, behind it."""

_SHORT_DIGEST_LENGTH = 12
_FAMILIES = ("mme-reasoning",)
"""Benchmarks with so many rubrics that these have a folder: `mme-reasoning-same` is `mme-reasoning/same.toml`."""
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
    images: MediaPlace = "none"
    further_fields: tuple[str, ...] = ()
    """Fields that benchmarks fill and this text does not show, for other wordings."""

    @property
    def known_fields(self) -> frozenset[str]:
        """The fields that a text may have."""
        return frozenset((*_FIELD.findall(self.text), *self.further_fields))

    @property
    def short_digest(self) -> str:
        return self.digest[:_SHORT_DIGEST_LENGTH]

    def messages(self, media: Sequence[MediaRef] = (), **fields: str) -> tuple[Message, ...]:
        """The prompt with its fields filled in, and with the media of the question where it shows
        any. Raises KeyError for a missing field."""
        # One pass, so that braces in a question or reply are never taken for fields.
        text = _FIELD.sub(lambda match: fields[match[1]], self.text)
        system = (Message("system", (Text(self.system),)),) if self.system else ()
        shown: list[Part] = [Media(ref.kind, ref.digest) for ref in media]
        if self.images == "none":
            shown = []
        parts = (Text(text), *shown) if self.images == "after" else (*shown, Text(text))
        return (*system, user(*parts))


@functools.cache
def load_rubric(name: str) -> Rubric:
    """Read a rubric by its name."""
    folder = files("snellen.prompts") / "judging"
    family = next((family for family in _FAMILIES if name.startswith(f"{family}-")), None)
    file = folder / f"{name}.toml" if family is None else folder / family / f"{name[len(family) + 1 :]}.toml"
    data = file.read_bytes()
    table = tomllib.loads(data.decode())
    return Rubric(
        name,
        table["title"],
        table["source"],
        table.get("system", ""),
        table["text"].removesuffix("\n"),
        table.get("rules", {}),
        hashlib.sha256(data).hexdigest(),
        table.get("images", "none"),
        tuple(table.get("fields", ())),
    )


class _RubricText(Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one rubric in a user's file."""

    text: str
    system: str = ""
    rules: dict[str, str] = {}


def reworded_rubrics(tables: Mapping[str, object], names: Sequence[str], path: str) -> dict[str, Rubric]:
    """Rubrics of these names in the words of the user's file, as far as it has them.

    `tables` are those of the file at `path`: `text`, and perhaps `system` and `rules`, by the
    rubric's name. Fields and images are those of the stored rubric, and so are rules that the file
    does not have; the digest is that of the new words. Raises UsageError.
    """
    if not tables:
        raise UsageError(f"{path} has no prompt; expected a table for one of {', '.join(names)}")
    return {name: _rubric_in_words(name, table, names, path) for name, table in tables.items()}


def _rubric_in_words(name: str, table: object, names: Sequence[str], path: str) -> Rubric:
    if name not in names:
        raise UnknownName("judge prompt", name, names, f"the tables of {path} are called so.")
    try:
        words = msgspec.convert(table, _RubricText)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}, [{name}]: {error}; expected `text`, and `system` where there is one") from error
    stored = load_rubric(name)
    for rule in words.rules.keys() - stored.rules.keys():
        raise UnknownName(f"rule of {name}", rule, stored.rules, f"in {path}.")
    unknown = sorted(set(_FIELD.findall(words.text)) - stored.known_fields)
    if unknown:
        known = ", ".join(f"{{{field}}}" for field in sorted(stored.known_fields))
        raise UsageError(f"{path}, [{name}]: the text has {{{unknown[0]}}}, which is not filled in; expected {known}")
    return stored._replace(
        source=path,
        system=words.system,
        text=words.text.removesuffix("\n"),
        rules={**stored.rules, **words.rules},
        digest=hashlib.sha256(msgspec.json.encode(words)).hexdigest(),
    )

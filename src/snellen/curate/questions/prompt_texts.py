"""The prompts of the question pipeline, kept as data in `prompts.toml` and `dimensions.toml`.

Both files' SHA-256 belong to a step's settings: other prompts make other questions.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, UnknownName
from snellen.core.request import Message, Part, Text, user
from snellen.curate.questions.extraction import NEEDS

_FIELD = re.compile(r"\{([a-z_]+)\}")

Shown = Literal["image", "video", "album", "examples"]


class DimensionPrompt(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked about in one evaluation dimension; see the head of `dimensions.toml`."""

    name: str
    media: Shown
    needs: tuple[str, ...]
    text: str
    shows: bool = False
    reasons: bool = False
    by_name: bool = False


class PromptTexts(NamedTuple):
    extraction: Mapping[str, str]
    prompts: Mapping[str, Mapping[str, str]]
    """`system` and `text` of each other prompt, by name."""
    digest: str


@functools.cache
def prompt_texts() -> PromptTexts:
    """The prompts that come with Snellen."""
    data = (files(__package__) / "prompts.toml").read_bytes()
    table = tomllib.loads(data.decode())
    return PromptTexts(table["extraction"], table, hashlib.sha256(data).hexdigest())


def prompt_messages(
    name: str, *parts: Part, text: str = "text", system: str = "system", **fields: str
) -> list[Message]:
    """System message and user message of a prompt, `parts` (pictures) before its text."""
    prompt = prompt_texts().prompts[name]
    # One pass, so that braces of JSON or of a question are never taken for fields.
    filled = _FIELD.sub(lambda match: fields.get(match[1], match[0]), prompt[text].strip())
    return [Message("system", (Text(prompt[system]),)), user(*parts, Text(filled))]


def load_dimensions(path: str | None = None) -> dict[str, DimensionPrompt]:
    """Dimensions by slug: Snellen's own, and those of a user's TOML file, which replace or extend
    them. Raises DataError."""
    own = _read_dimensions((files(__package__) / "dimensions.toml").read_bytes(), "dimensions.toml")
    if path is None:
        return own
    try:
        data = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    return own | _read_dimensions(data, path)


def choose_dimensions(
    dimensions: Mapping[str, DimensionPrompt], names: Sequence[str]
) -> dict[str, DimensionPrompt]:
    """Those of these slugs or names; without a name all but those that are asked about by name
    alone. Raises UnknownName."""
    by_name = {prompt.name.lower(): slug for slug, prompt in dimensions.items()}
    chosen = {}
    for name in names:
        slug = by_name.get(name.lower(), name.lower())
        if slug not in dimensions:
            raise UnknownName("dimension", name, dimensions, "see `--list-dimensions`")
        chosen[slug] = dimensions[slug]
    return chosen or {slug: one for slug, one in dimensions.items() if not one.by_name}


def _read_dimensions(data: bytes, path: str) -> dict[str, DimensionPrompt]:
    try:
        table = tomllib.loads(data.decode())
        prompts = msgspec.convert(table, dict[str, DimensionPrompt])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise DataError(f"{path} is no file of dimensions: {error}") from error
    for slug, prompt in prompts.items():
        unknown = set(prompt.needs) - {*NEEDS}
        if unknown:
            raise DataError(
                f"{path}, {slug}: needs {', '.join(sorted(unknown))}; expected some of "
                f"{', '.join(NEEDS)}"
            )
    return prompts

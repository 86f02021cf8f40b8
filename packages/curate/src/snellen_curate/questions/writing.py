"""Steps that ask: questions of a picture's description, and checks of each question by models.

The prompts are data, in `prompts.toml` and `dimensions.toml`. Their SHA-256 belongs to a step's
settings: other prompts make other questions.
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
from snellen.core.media import Source
from snellen.core.record import Steps
from snellen.core.request import Generation, Media, Message, Part, Text, user
from snellen.core.sample import MediaRef
from snellen_curate.asking import ask_json
from snellen_curate.questions.extraction import NEEDS, VisualFacts, describe
from snellen_curate.questions.rules import WrittenQuestion, WrittenQuestions

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
    """System message and user message of a prompt, `parts` (images) before its text."""
    texts = prompt_texts().prompts[name]
    # One pass, so that braces of JSON or of a question are never taken for fields.
    filled = _FIELD.sub(lambda match: fields.get(match[1], match[0]), texts[text].strip())
    return [Message("system", (Text(texts[system]),)), user(*parts, Text(filled))]


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


def choose_dimensions(dimensions: Mapping[str, DimensionPrompt], names: Sequence[str]) -> dict[str, DimensionPrompt]:
    """Those of these slugs or names; without a name all but those that are asked about by name
    alone. Raises UnknownName."""
    by_name = {one.name.lower(): slug for slug, one in dimensions.items()}
    chosen = {}
    for name in names:
        slug = by_name.get(name.lower(), name.lower())
        if slug not in dimensions:
            raise UnknownName("dimension", name, dimensions, "see `--list`")
        chosen[slug] = dimensions[slug]
    return chosen or {slug: one for slug, one in dimensions.items() if not one.by_name}


def _read_dimensions(data: bytes, path: str) -> dict[str, DimensionPrompt]:
    try:
        table = tomllib.loads(data.decode())
        prompts = msgspec.convert(table, dict[str, DimensionPrompt])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise DataError(f"{path} is no file of dimensions: {error}") from error
    for slug, one in prompts.items():
        unknown = set(one.needs) - {*NEEDS}
        if unknown:
            raise DataError(f"{path}, {slug}: needs {', '.join(sorted(unknown))}; expected some of {', '.join(NEEDS)}")
    return prompts


WRITER, REASONER, CHECKER = "writer", "reasoner", "checker"
"""Roles: who writes the questions, those that take reasoning, and who checks options and videos."""
_SETTINGS = Generation(max_new_tokens=2048)
_VERDICT = Generation(max_new_tokens=256)


class _FrameVerdict(Struct, frozen=True):
    answerable: bool
    reason: str = ""


class _DistractorVerdict(Struct, frozen=True):
    too_close: list[int]
    reason: str = ""


def number_lines(texts: Sequence[str]) -> str:
    """The texts as a numbered list."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def write_questions(
    role: str,
    dimension: DimensionPrompt,
    extraction: VisualFacts,
    image: str,
    media: Sequence[MediaRef] = (),
    *,
    count: int,
) -> Steps[list[WrittenQuestion]]:
    """Up to `count` questions of one dimension; `media` are shown if the dimension says so.

    Raises NotJson and AskFailed.
    """
    shown = tuple(media) if dimension.shows else ()
    messages = prompt_messages(
        "writing",
        *(Media(ref.kind, ref.digest) for ref in shown),
        text="task",
        system="shows" if shown else "system",
        instruction=dimension.text.strip(),
        count=str(count),
        description=describe(extraction),
    )
    sources: Mapping[str, Source] = {ref.digest: ref.source for ref in shown}
    written = yield from ask_json(role, messages, WrittenQuestions, image, media=sources, settings=_SETTINGS)
    return written.questions[:count]


def ask_single_frame(role: str, written: WrittenQuestion, extraction: VisualFacts, item: str) -> Steps[str]:
    """Why one frame of the video answers the question, by a model that reads what each moment
    shows (Sec. 3.3.1); "" if it takes several."""
    options = (written.answer, *written.distractors)
    messages = prompt_messages(
        "single_frame",
        question=written.question,
        options="; ".join(sorted(options)),
        answer=written.answer,
        description=describe(extraction),
    )
    verdict = yield from ask_json(role, messages, _FrameVerdict, item, settings=_VERDICT)
    return (verdict.reason or "one frame is enough") if verdict.answerable else ""


def ask_close_distractors(role: str, written: WrittenQuestion, item: str) -> Steps[str]:
    """Which distractors a model finds as right as the answer; "" if none."""
    messages = prompt_messages(
        "distractors", question=written.question, answer=written.answer, distractors=number_lines(written.distractors)
    )
    most = len(written.distractors)

    def problem(value: _DistractorVerdict) -> str:
        is_usable = all(1 <= one <= most for one in value.too_close)
        return "" if is_usable else f"too_close holds numbers from 1 to {most}"

    verdict = yield from ask_json(role, messages, _DistractorVerdict, item, settings=_VERDICT, check=problem)
    named = [repr(written.distractors[number - 1]) for number in verdict.too_close]
    return f"{', '.join(named)}: {verdict.reason or 'as right as the answer'}" if named else ""

"""Convert coordinates in a question and its options between pixels and 0..1 (MMT-Bench Appendix E,
Fig. A2).

A coordinate list is an even number of numbers in brackets, [x, y, x, y, ...]; boxes by corners or
by width and height, points and polygons all scale the same way. The question and the options may be
in different formats: each is converted by its own. Lists of 0 and 1 without decimals do not tell
theirs: they may count cells, and stay as they are where nothing else tells it. Decimals are added
if two different options would become equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

Coordinates = Literal["pixel", "normalised"]

NORMALISED_DIGITS = 3
PIXEL_DIGITS = 0
_MAX_DIGITS = 6
_NUMBER = r"-?\d+(?:\.\d+)?"
_LIST = re.compile(rf"[\[(]\s*({_NUMBER}(?:\s*,\s*{_NUMBER})+)\s*[\])]")
_SIZE_NOTE = re.compile(r"\s*(?:Note that\s+)?[Tt]he width\b[^\d.]*(\d+)[^\d.]*\bheight\b[^\d.]*(\d+)\.?")
_CAMERA = re.compile(r"(?:Principal Point|Parameters|Focal Length)\W*$", re.IGNORECASE)
_CAMERA_REACH = 30
_NORMALISED_NOTE = (
    " Note that all coordinates are normalised: x and width by the width of the image, y and "
    "height by its height, so that they lie between 0 and 1."
)


class ImageSize(NamedTuple):
    """The size of an image in pixels."""

    width: int
    height: int


class RewrittenQuestion(NamedTuple):
    question: str
    options: dict[str, str]


def size_in_question(question: str) -> ImageSize | None:
    """The image size that the question states ("the width ... is 640 and the height 480")."""
    note = _SIZE_NOTE.search(question)
    return ImageSize(int(note[1]), int(note[2])) if note else None


def has_other_format(question: str, options: Mapping[str, str], to: Coordinates) -> bool:
    """Whether the question or the options hold coordinate lists in another format than `to`."""
    return not {None, to}.issuperset(_formats([question, *options.values()]))


def _formats(texts: Iterable[str]) -> set[Coordinates | None]:
    """The formats of all coordinate lists of the texts."""
    lists = (match for text in texts for match in _LIST.finditer(text))
    return {_format_of(match) for match in lists if _is_coordinates(match)}


def _format_of(match: re.Match[str]) -> Coordinates | None:
    """Normalised if no number exceeds 1 and one lies between; None for a list of 0 and 1."""
    numbers = [abs(number) for number in _numbers(match)]
    if max(numbers) > 1:
        return "pixel"
    return "normalised" if any(0 < number < 1 for number in numbers) else None


def rewrite_coordinates(
    question: str, options: Mapping[str, str], to: Coordinates, size: ImageSize
) -> RewrittenQuestion:
    """The question and options with their coordinates converted to the format `to`."""
    if not has_other_format(question, options, to):
        return RewrittenQuestion(question, dict(options))
    distinct = len(set(options.values()))
    digits = NORMALISED_DIGITS if to == "normalised" else PIXEL_DIGITS
    # More decimals until options that differed still differ, or to the limit.
    while True:
        changed = _scale_lists(options.values(), to, size, digits, _formats([question]))
        if len(set(changed)) == distinct or digits == _MAX_DIGITS:
            break
        digits += 1
    (question,) = _scale_lists([question], to, size, digits, _formats(options.values()))
    return RewrittenQuestion(_add_note(question, to, size), dict(zip(options, changed, strict=True)))


def _scale_lists(
    texts: Iterable[str], to: Coordinates, size: ImageSize, digits: int, other_formats: set[Coordinates | None]
) -> list[str]:
    """The texts with their lists in the format `to`. A list of 0 and 1 has that of the others, and
    where these do not tell one, that of `other_formats`."""
    texts = list(texts)
    known = _formats(texts) - {None} or other_formats - {None}
    default = known.pop() if len(known) == 1 else None
    factors = (1 / size.width, 1 / size.height) if to == "normalised" else size

    def scale(match: re.Match[str]) -> str:
        found = _format_of(match) or default if _is_coordinates(match) else None
        if found in (None, to):
            return match[0]
        scaled = [number * factors[index % 2] for index, number in enumerate(_numbers(match))]
        inner = ", ".join(f"{number:.{digits}f}" for number in scaled)
        return f"{match[0][0]}{inner}{match[0][-1]}"

    return [_LIST.sub(scale, text) for text in texts]


def _add_note(question: str, to: Coordinates, size: ImageSize) -> str:
    """The question with a note that explains its coordinates."""
    note = _SIZE_NOTE.search(question)
    if to == "normalised":
        bare = question if note is None else question[: note.start()] + question[note.end() :]
        return bare.rstrip() + _NORMALISED_NOTE
    if note is not None:
        return question
    sentence = f"the width of the input image is {size.width} and the height is {size.height}"
    return f"{question.rstrip()} Note that {sentence}."


def _is_coordinates(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - _CAMERA_REACH) : match.start()]
    return len(_numbers(match)) % 2 == 0 and not _CAMERA.search(before)


def _numbers(match: re.Match[str]) -> list[float]:
    return [float(number) for number in match[1].split(",")]

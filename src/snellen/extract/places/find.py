"""All places that a reply writes, in whatever spelling, before anything is made of them."""

from __future__ import annotations

from typing import Literal

from snellen.core import lazy_re as re
from snellen.extract.places.brackets import find_bracketed
from snellen.extract.places.named import find_named
from snellen.extract.places.tags import find_point_tags, find_tokens
from snellen.extract.places.written import NUMBER, WrittenPlace, parse_numbers

_LABEL = re.compile(
    r"[\"'](?:label|name|class|class_name|category|object|object_name|text_content|text|phrase|description|title)[\"']\s*:"
    r"\s*(?:\"((?:[^\"\\\n]|\\.){0,300})\"|'((?:[^'\\\n]|\\.){0,300})')",
    re.IGNORECASE,
)
_SCORE = re.compile(
    r"[\"']?(?:score|confidence|conf|prob|probability)[\"']?\s*[:=]\s*[\"']?(\d+(?:\.\d+)?|\.\d+)(%?)", re.IGNORECASE
)
_REFERENCE = re.compile(r"<(?:\|object_ref_start\||\|ref\||ref|phrase|p)>([^<>]{0,300})<", re.IGNORECASE)
_LINE_LABEL = re.compile(
    r"\n[ \t]*(?:[-*+\u2022][ \t]+|\d{1,3}[.)][ \t]*)?[*_`]{0,3}"
    r"([^\W\d_][^\n:*`_\"=\[\](){}<>]{0,60}?)[*_`]{0,3}[ \t]*:[*_`]{0,3}[ \t]*(?:<[^<>\n]{0,30}>|[\[(`])*\Z"
)
"""The beginning of a line, up to its first place."""
_LONGEST_LINE_LABEL = 160
_NO_LABEL = re.compile(
    r"\b(?:is|are|see|found|detected|located|here|these|following|bounding|boxes|bbox(?:es)?|json|rects?"
    r"|(?:answer|result|output|prediction|coord|coordinate|location|position)s?)\b|\b(?:of|for|in|at|and)\Z"
    r"|\A(?:sure|first|second|third|last|(?:box|object|region|point|instance|detection|item|target)s?(?: ?\d+)?)\Z",
    re.IGNORECASE,
)
"""What begins a line of places and names none of them: "The boxes are:", "Object 2:"."""
_SAME_LINE = re.compile(
    r"(?:[ \t,;\[\]()`]|<[^<>\n]{0,30}>|and\b|&|\((?:[a-z]{1,12} ?[:=] ?)?\d?\.?\d{1,6}%?\))*", re.IGNORECASE
)
"""What stands between two places of one label."""
_TAGS = re.compile(r"(?:[\s,;\[\]()]|<[^<>]{0,30}>)*")
_LONE_NUMBER = re.compile(rf"(?<![a-z0-9_.])({NUMBER}(?:%|px)?)(?![a-z0-9_%]|\.\d)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([\"'/\\])")


def find_places(text: str, size: Literal[2, 4], *, several: bool) -> list[WrittenPlace]:
    """The places of a text in their order, with labels and confidences. Places that a key, a name or
    a tag marks go before numbers in brackets, and these before a text of nothing but a few numbers.

    `size` is how many numbers a place has, two for points and four for boxes; `several` says whether
    more than one place is expected: if not, two adjacent pairs are one box.
    """
    tagged = [*find_point_tags(text), *find_tokens(text, size)]
    rest = blank_places(text, tagged)
    found = [*tagged, *find_named(rest), *find_bracketed(rest, pairs_are_boxes=size == 4 or not several)]
    structured = [one for one in found if one.structured]
    found = structured or [one for one in found if len(one.numbers) in (2, 4)] or found
    # A centre beside a box, or a box beside a point, is not what was asked for.
    if (structured or size == 4) and any(len(one.numbers) == size for one in found):
        found = [one for one in found if len(one.numbers) not in (2, 4) or len(one.numbers) == size]
    if not found:
        return _lone_numbers(text, (size,) if several or size == 4 else (2, 4))
    labelled = with_labels(text, sorted(found, key=lambda one: (one.start, one.end)))
    return _with_line_labels(text, labelled) if several else labelled


def blank_places(text: str, found: list[WrittenPlace]) -> str:
    """The text with these places blanked out; same length."""
    parts, last = [], 0
    for start, end in sorted({(one.start, one.end) for one in found}):
        parts += [text[last:start], " " * (end - start)]
        last = end
    return "".join([*parts, text[last:]])


def _lone_numbers(text: str, counts: tuple[int, ...]) -> list[WrittenPlace]:
    matches = list(_LONE_NUMBER.finditer(text))
    if len(matches) not in counts:
        return []
    numbers = parse_numbers(" ".join(match[1] for match in matches))
    if numbers is None:
        return []
    start, end = matches[0].start(), matches[-1].end()
    return [
        WrittenPlace(
            numbers.values, start, end, "only numbers", structured=False, decimals=numbers.decimals, mark=numbers.mark
        )
    ]


def with_labels(text: str, found: list[WrittenPlace]) -> list[WrittenPlace]:
    """The places with the labels and confidences that stand in the same object or tag."""
    labelled: list[WrittenPlace] = []
    for index, one in enumerate(found):
        after = found[index - 1].end if index else 0
        until = found[index + 1].start if index + 1 < len(found) else len(text)
        before = text[max(after, one.start - 400) : one.start]
        behind = text[one.end : max(one.end, min(until, one.end + 400))]
        inside = before.rpartition("{")[2], behind.partition("}")[0]
        label, score = one.label, one.score
        for part in inside:
            if match := _LABEL.search(part):
                label = _ESCAPE.sub(r"\1", match[1] if match[1] is not None else match[2])
            if match := _SCORE.search(part):
                score = float(match[1]) / (100 if match[2] else 1)
        if not label and (references := _REFERENCE.findall(before)):
            label = references[-1].strip()
        # All boxes that follow one reference have its label.
        elif not label and index and one.spelling.startswith("tag") and _TAGS.fullmatch(before):
            label = labelled[-1].label
        labelled.append(one._replace(label=label, score=score))
    return labelled


def _with_line_labels(text: str, found: list[WrittenPlace]) -> list[WrittenPlace]:
    """The places with the name that begins their line, as in `- red car: [1, 2, 30, 40], [5, 6, 70, 80]`,
    where none of them has a label of its own."""
    if any(one.label for one in found):
        return found
    named: list[WrittenPlace] = []
    for index, one in enumerate(found):
        gap = text[found[index - 1].end : one.start] if index else "\n" + text[: one.start]
        match = _LINE_LABEL.search(gap[-_LONGEST_LINE_LABEL:])
        label = match[1].strip() if match and not _NO_LABEL.search(match[1].strip()) else ""
        if not label and named and _SAME_LINE.fullmatch(gap):
            label = named[-1].label
        named.append(one._replace(label=label))
    return named

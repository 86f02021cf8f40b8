"""Samples that every model has wrong, as cards with picture, question and options (MMBench
Fig. 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from snellen.analysis.findings.abilities import Ability, HardSample
from snellen.report import format as fmt
from snellen.report.plots.dot_plot import frame
from snellen.report.plots.palette import FAINT, GRID, INK, PALETTE, width_of

_ACROSS = 2
_WIDE, _PAD, _LINE = 400, 12, 16
_PICTURE, _SMALL = 128, 84
"""Sides of a lone picture, and of one of several."""
_TYPE = 12
_GAP = 6


class Card(NamedTuple):
    """`best` is the best score of any model in the ability; `pictures` are data URLs."""

    ability: str
    best: float
    question: str
    options: Mapping[str, str]
    gold: Sequence[str]
    answers: Mapping[str, str]
    """What each model said."""
    pictures: Sequence[str] = ()


def hard_cards(title: str, cards: Sequence[Card]) -> str:
    """Two cards in a row, as high as the highest of them needs."""
    texts = [_lines(one) for one in cards]
    parts: list[str] = []
    y = 38.0
    for start in range(0, len(cards), _ACROSS):
        row = texts[start : start + _ACROSS]
        shown = max(_pictures_high(one) for one in cards[start : start + _ACROSS])
        high = _PAD * 2 + 20 + max(shown, _LINE * max(map(len, row)))
        for column, lines in enumerate(row):
            x = 12 + column * (_WIDE + 12)
            parts += _card(cards[start + column], lines, x, y, high)
        y += high + 12
    return frame(12 + (_WIDE + 12) * min(_ACROSS, max(1, len(cards))), y, title, parts)


def cards_of(
    found: Sequence[HardSample],
    ordered: Sequence[Ability],
    models: Sequence[str],
    pictures: Mapping[str, str],
) -> list[Card]:
    """Cards of hard samples; `pictures` are data URLs by digest."""
    best = {one.name: one.best.value for one in ordered}
    return [
        Card(
            fmt.words(one.ability), best[one.ability], one.record.question, one.record.options,
            one.record.gold,
            {name: said or "none" for name, said in zip(models, one.answers, strict=True)},
            [pictures[digest] for digest in one.record.media if digest in pictures],
        )
        for one in found
    ]  # fmt: skip


class _Line(NamedTuple):
    text: str
    bold: bool = False
    faint: bool = False


def _lines(one: Card) -> list[_Line]:
    room = _WIDE - _PAD * 3 - _PICTURE
    found = [_Line(part, bold=True) for part in _broken(one.question, room)]
    for label, text in one.options.items():
        told = f"{label}. {text}{'  (right)' if label in one.gold else ''}"
        found += [_Line(part) for part in _broken(told, room)]
    if not one.options:
        found.append(_Line(f"right: {', '.join(one.gold)}"))
    said = "; ".join(f"{model}: {answer}" for model, answer in one.answers.items())
    return [*found, *(_Line(part, faint=True) for part in _broken(said, room))]


def _card(one: Card, lines: Sequence[_Line], x: float, y: float, high: float) -> list[str]:
    parts = [
        f'<rect x="{x}" y="{y:.1f}" width="{_WIDE}" height="{high:.1f}" rx="6" fill="none" '
        f'stroke="{GRID}"/>',
        f'<text x="{x + _PAD}" y="{y + 20:.1f}" font-weight="bold" fill="{PALETTE[1]}">'
        f"{escape(one.ability)}, A_max {one.best:.1f} %</text>",
    ]
    side = _PICTURE if len(one.pictures) == 1 else _SMALL
    for at, picture in enumerate(one.pictures):
        parts.append(
            f'<image x="{x + _PAD}" y="{y + 30 + (side + _GAP) * at:.1f}" width="{side}" '
            f'height="{side}" preserveAspectRatio="xMinYMin meet" '
            f'href="{escape(picture, quote=True)}"/>'
        )
    for at, line in enumerate(lines):
        weight = ' font-weight="bold"' if line.bold else ""
        parts.append(
            f'<text x="{x + _PAD * 2 + _PICTURE}" y="{y + 40 + _LINE * at:.1f}"{weight} '
            f'fill="{FAINT if line.faint else INK}">{escape(line.text)}</text>'
        )
    return parts


def _pictures_high(one: Card) -> float:
    side = _PICTURE if len(one.pictures) == 1 else _SMALL
    return (side + _GAP) * len(one.pictures)


def _broken(text: str, room: float) -> list[str]:
    """Lines that fit into `room` pixels, broken between words."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and width_of(longer, _TYPE) > room:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line] if line else lines

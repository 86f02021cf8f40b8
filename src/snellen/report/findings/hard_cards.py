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
_IMAGE, _SMALL = 128, 84
"""Sides of a lone picture, and of one of several."""
_TYPE = 12
_GAP = 6


class HardSampleCard(NamedTuple):
    """`best` is the best score of any model in the ability; `images` are data URLs."""

    ability: str
    best: float
    question: str
    options: Mapping[str, str]
    gold: Sequence[str]
    answers: Mapping[str, str]
    """What each model said."""
    images: Sequence[str] = ()


def hard_cards(title: str, cards: Sequence[HardSampleCard]) -> str:
    """Two cards in a row, as high as the highest of them needs."""
    texts = [_card_lines(one) for one in cards]
    parts: list[str] = []
    y = 38.0
    for start in range(0, len(cards), _ACROSS):
        row = texts[start : start + _ACROSS]
        shown = max(_images_height(one) for one in cards[start : start + _ACROSS])
        high = _PAD * 2 + 20 + max(shown, _LINE * max(map(len, row)))
        for column, lines in enumerate(row):
            x = 12 + column * (_WIDE + 12)
            parts += _draw_card(cards[start + column], lines, x, y, high)
        y += high + 12
    return frame(12 + (_WIDE + 12) * min(_ACROSS, max(1, len(cards))), y, title, parts)


def build_cards(
    samples: Sequence[HardSample],
    ordered: Sequence[Ability],
    models: Sequence[str],
    image_urls: Mapping[str, str],
) -> list[HardSampleCard]:
    """Cards of hard samples; `images` are data URLs by digest."""
    best = {one.name: one.best.value for one in ordered}
    return [
        HardSampleCard(
            fmt.display_name(one.ability), best[one.ability], one.record.question, one.record.options,
            one.record.gold,
            {name: said or "none" for name, said in zip(models, one.answers, strict=True)},
            [image_urls[digest] for digest in one.record.media if digest in image_urls],
        )
        for one in samples
    ]  # fmt: skip


class _CardLine(NamedTuple):
    text: str
    bold: bool = False
    faint: bool = False


def _card_lines(card: HardSampleCard) -> list[_CardLine]:
    room = _WIDE - _PAD * 3 - _IMAGE
    found = [_CardLine(part, bold=True) for part in _wrap(card.question, room)]
    for label, text in card.options.items():
        told = f"{label}. {text}{'  (right)' if label in card.gold else ''}"
        found += [_CardLine(part) for part in _wrap(told, room)]
    if not card.options:
        found.append(_CardLine(f"right: {', '.join(card.gold)}"))
    said = "; ".join(f"{model}: {answer}" for model, answer in card.answers.items())
    return [*found, *(_CardLine(part, faint=True) for part in _wrap(said, room))]


def _draw_card(
    card: HardSampleCard, lines: Sequence[_CardLine], x: float, y: float, high: float
) -> list[str]:
    parts = [
        f'<rect x="{x}" y="{y:.1f}" width="{_WIDE}" height="{high:.1f}" rx="6" fill="none" '
        f'stroke="{GRID}"/>',
        f'<text x="{x + _PAD}" y="{y + 20:.1f}" font-weight="bold" fill="{PALETTE[1]}">'
        f"{escape(card.ability)}, A_max {card.best:.1f} %</text>",
    ]
    side = _IMAGE if len(card.images) == 1 else _SMALL
    for at, picture in enumerate(card.images):
        parts.append(
            f'<image x="{x + _PAD}" y="{y + 30 + (side + _GAP) * at:.1f}" width="{side}" '
            f'height="{side}" preserveAspectRatio="xMinYMin meet" '
            f'href="{escape(picture, quote=True)}"/>'
        )
    for at, line in enumerate(lines):
        weight = ' font-weight="bold"' if line.bold else ""
        parts.append(
            f'<text x="{x + _PAD * 2 + _IMAGE}" y="{y + 40 + _LINE * at:.1f}"{weight} '
            f'fill="{FAINT if line.faint else INK}">{escape(line.text)}</text>'
        )
    return parts


def _images_height(card: HardSampleCard) -> float:
    side = _IMAGE if len(card.images) == 1 else _SMALL
    return (side + _GAP) * len(card.images)


def _wrap(text: str, width: float) -> list[str]:
    """Lines that fit into `width` pixels, broken between words."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and width_of(longer, _TYPE) > width:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line] if line else lines

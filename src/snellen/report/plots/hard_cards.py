"""Samples that every model has wrong, as cards with images, question and options (MMBench
Fig. 10)."""

from __future__ import annotations

import base64
import io
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.findings.abilities import Ability, HardSample
from snellen.core.answer_text import answer_texts
from snellen.report import format as fmt
from snellen.report.plots.figure import FAINT, GRID, INK, PALETTE, plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 2
_WIDTH, _PAD, _LINE = 4.6, 0.12, 0.165
"""Inches of a card, of its margins and of a line of text."""
_IMAGE, _SMALL_IMAGE, _GAP = 1.3, 0.85, 0.06
"""Sides of a single image and of one of several, and what is between them."""
_CHARACTERS = 37
"""Latin letters in a line beside the images."""


class HardSampleCard(NamedTuple):
    """`best` is the best score of any model in the ability, in percent."""

    ability: str
    best: float
    question: str
    options: Mapping[str, str]
    gold: Sequence[str]
    answers: Mapping[str, str]
    """The answer of each model."""
    images: Sequence[bytes] = ()
    """JPEG or PNG files."""


def build_cards(
    samples: Sequence[HardSample], abilities: Sequence[Ability], models: Sequence[str], image_urls: Mapping[str, str]
) -> list[HardSampleCard]:
    """Cards of hard samples; `image_urls` are data URLs in base64 by digest."""
    best = {ability.name: ability.best.value for ability in abilities}
    return [
        HardSampleCard(
            fmt.display_name(sample.ability),
            best[sample.ability],
            sample.record.question,
            sample.record.options,
            answer_texts(sample.record.gold, sample.record.kind),
            dict(zip(models, (answer or "none" for answer in sample.answers), strict=True)),
            [
                base64.b64decode(image_urls[digest].partition(",")[2])
                for digest in sample.record.media
                if digest in image_urls
            ],
        )
        for sample in samples
    ]


class _TextLine(NamedTuple):
    text: str
    bold: bool = False
    colour: str = INK


@plot_style()
def draw_cards(title: str, cards: Sequence[HardSampleCard]) -> Figure:
    """Two cards in a row, as high as the higher of them needs."""
    from matplotlib.figure import Figure

    rows = [cards[start : start + _ACROSS] for start in range(0, len(cards), _ACROSS)]
    heights = [max(map(_height, row)) for row in rows]
    width = (_WIDTH + _PAD) * min(_ACROSS, max(1, len(cards))) - _PAD
    height = max(0.5, sum(heights) + _PAD * (len(rows) - 1))
    figure = Figure(figsize=(width, height))
    figure.set_label(title)
    # Axes in inches with their origin at the top left hold frames, texts and images.
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    axes.set_title(title, loc="left", pad=10)
    y = 0.0
    for row, tall in zip(rows, heights, strict=True):
        for column, card in enumerate(row):
            _draw_card(axes, card, column * (_WIDTH + _PAD), y, tall)
        y += tall + _PAD
    return figure


def _draw_card(axes: Axes, card: HardSampleCard, x: float, y: float, height: float) -> None:
    """Draw a card with its upper left corner at (x, y), in inches."""
    from matplotlib.patches import FancyBboxPatch
    from PIL import Image

    axes.add_patch(
        FancyBboxPatch(
            (x + 0.06, y + 0.06), _WIDTH - 0.12, height - 0.12, "round,pad=0.06", fc="none", ec=GRID, clip_on=False
        )
    )
    axes.text(x + _PAD, y + 0.24, f"{card.ability}, A_max {card.best:.1f} %", fontweight="bold", color=PALETTE[1])
    side = _side(card)
    for index, data in enumerate(card.images):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        scale = side / max(image.size)
        left, top = x + _PAD, y + 0.36 + (side + _GAP) * index
        extent = (left, left + scale * image.width, top + scale * image.height, top)
        axes.imshow(image, extent=extent, aspect="auto", interpolation="none")
    for index, line in enumerate(_lines(card)):
        axes.text(
            x + 2 * _PAD + _IMAGE,
            y + 0.46 + _LINE * index,
            line.text,
            color=line.colour,
            fontweight="bold" if line.bold else "normal",
            fontsize=8.5,
        )


def _side(card: HardSampleCard) -> float:
    return _IMAGE if len(card.images) == 1 else _SMALL_IMAGE


def _height(card: HardSampleCard) -> float:
    images = (_side(card) + _GAP) * len(card.images)
    return 0.4 + max(images, _LINE * (len(list(_lines(card))) + 0.5))


def _lines(card: HardSampleCard) -> Iterator[_TextLine]:
    for text in _wrap(card.question):
        yield _TextLine(text, bold=True)
    for label, option in card.options.items():
        for text in _wrap(f"{label}. {option}{'  (right)' if label in card.gold else ''}"):
            yield _TextLine(text)
    if not card.options:
        yield _TextLine(f"right: {', '.join(card.gold)}")
    for text in _wrap("; ".join(f"{model}: {answer}" for model, answer in card.answers.items())):
        yield _TextLine(text, colour=FAINT)


def _wrap(text: str) -> Iterator[str]:
    """Lines broken between words; East Asian characters are twice as wide as Latin ones."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in longer) > _CHARACTERS:
            yield line
            longer = word
        line = longer
    if line:
        yield line

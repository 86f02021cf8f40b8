"""What all figures share: style, palette, axes of a fixed size, and the way to a file.

Nothing is said by colour alone: series differ in marker, dash or hatch too. The colours are those
of M. Okabe and K. Ito, "Color Universal Design" (2008).
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from snellen.core.atomic_write import save
from snellen.core.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8F7A00")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (8, 2, 2, 2)),
    (0, (4, 1)),
    (0, (1, 2)),
    (0, (10, 3)),
    (0, (3, 2, 1, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "*")
HATCHES = ("", "///", "\\\\\\", "|||", "---", "xxx", "...", "+++")
INK, FAINT, GRID, NO_VALUE = "#1a1a1a", "#555555", "#d9d9d9", "#d4d4d4"
PNG_DPI = 200
_STYLE: Any = {
    "svg.hashsalt": "snellen",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": INK,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": FAINT,
    "axes.edgecolor": GRID,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": FAINT,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.borderpad": 0,
}
_TOOLTIP = "tooltip:"
_TITLE_CHARACTER, _TITLE_WIDTH = 0.095, 4.8
"""Inches of a letter of a title; titles of narrow axes may be as wide as this."""
T = TypeVar("T")


def cycle(values: Sequence[T], index: int) -> T:
    """The colour, dash, marker or hatch of a series; they repeat after the eighth."""
    return values[index % len(values)]


def to_tint(colour: str) -> tuple[float, float, float]:
    """A light form of a colour, as red, green and blue of 0..1."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (1 - 0.35 * (1 - part) for part in parts)
    return red, green, blue


def shades() -> Colormap:
    """Light (0) to dark (1) blue."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", ["#e8f0fa", "#0a3070"])


def ink_on(colour: Any) -> str:
    """Black or white, whichever has more contrast (WCAG 2.1) on a colour of parts of 0..1."""
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.19 else "white"


@contextmanager
def plot_style() -> Iterator[None]:
    """matplotlib with our style and none of the user's; a decorator of functions that draw.

    Raises MissingExtra without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("a plot", "plots", "matplotlib") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_plot(width: float, height: float, title: str = "", **options: Any) -> tuple[Figure, Axes]:
    """A figure whose axes, without a frame, are `width` by `height` inches.

    Names, keys and the title lie outside of the axes: files are cut to what is drawn, so that
    rows have the same height whatever their names and their number.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    figure.set_label(title)
    axes = figure.add_axes((0, 0, 1, 1), **options)
    set_title(axes, title, width)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure, axes


def set_title(axes: Axes, title: str, width: float, pad: float = 10) -> None:
    """Set a title, in lines about as long as the axes are wide, `pad` points above them."""
    characters = int(max(width, _TITLE_WIDTH) / _TITLE_CHARACTER)
    lines = textwrap.wrap(title, characters, break_long_words=False, break_on_hyphens=False)
    axes.set_title("\n".join(lines), loc="left", pad=pad)


def draw_mark(axes: Axes, index: int, x: float, y: float, tooltip: str, size: int = 6) -> None:
    """A value of the series `index`, by its colour and the shape of its mark."""
    (mark,) = axes.plot(
        [x],
        [y],
        color=cycle(PALETTE, index),
        marker=cycle(MARKERS, index),
        markersize=size,
        markeredgecolor="white",
        markeredgewidth=size / 10,
        clip_on=False,
    )
    add_tooltip(mark, tooltip)


def series_keys(names: Iterable[str], *, lines: bool) -> list[Artist]:
    """The mark of each series with its name, on its line if `lines`."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            color=cycle(PALETTE, index),
            marker=cycle(MARKERS, index),
            label=name,
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.6,
            linestyle=cycle(DASHES, index) if lines else "none",
        )
        for index, name in enumerate(names)
    ]


def add_legend(figure: Figure, handles: Sequence[Artist], *, below: float) -> None:
    """A key `below` inches beneath the axes, as wide as the figure's size."""
    width, height = figure.get_size_inches()
    longest = max((len(str(handle.get_label())) for handle in handles), default=0)
    columns = max(1, min(len(handles), int(width * 13 / (longest + 5))))
    figure.axes[0].legend(
        handles=handles,
        loc="upper left",
        ncols=columns,
        columnspacing=1.4,
        bbox_to_anchor=(0, -below / height),
        borderaxespad=0,
    )


def add_tooltip(artist: Artist, text: str) -> None:
    """Let the SVG file show `text` where a reader points at `artist`."""
    artist.set_gid(_TOOLTIP + text)


def to_svg(figure: Figure) -> str:
    """The figure as the text of an SVG file; its label is what screen readers say.

    The text is the same for the same figure and version of matplotlib: without a date, and with
    ids by content.
    """
    text = _render(figure, "svg", metadata={"Date": None}).decode()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(rf'<g id="{_TOOLTIP}([^"]*)">', r"<g><title>\1</title>", text)
    label = escape(str(figure.get_label()), quote=True)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def save_plot(figure: Figure, path: Path) -> None:
    """Write a figure to a file whose suffix tells the format.

    Raises UsageError for another suffix than .svg, .png and .pdf, and StorageError if the file
    cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            save(path, to_svg(figure))
        case ".png":
            save(path, _render(figure, "png", dpi=PNG_DPI, metadata={"Software": None}))
        case ".pdf":
            save(path, _render(figure, "pdf", metadata={"CreationDate": None}))
        case other:
            raise UsageError(f"plots are .svg, .png or .pdf files, not {other or 'without a suffix'!r}")


def _render(figure: Figure, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    with plot_style(), warnings.catch_warnings():
        # A model's name may hold characters that matplotlib's own font lacks. A viewer of the SVG
        # file takes them from another font; in a PNG they are boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format=kind, bbox_inches="tight", pad_inches=0.12, **options)
    return buffer.getvalue()


@plot_style()
def fit_to_content(figure: Figure, margin: float = 0.12) -> Figure:
    """The figure, as large as what is drawn with a `margin` in inches, so that `savefig` and
    notebooks cut nothing. Its axes keep their size."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    size = (box.width + 2 * margin, box.height + 2 * margin)
    places = [(axes, axes.get_position()) for axes in figure.axes]
    figure.set_size_inches(*size)
    for axes, place in places:
        axes.set_position(
            (
                (place.x0 * width - box.x0 + margin) / size[0],
                (place.y0 * height - box.y0 + margin) / size[1],
                place.width * width / size[0],
                place.height * height / size[1],
            )
        )
    return figure

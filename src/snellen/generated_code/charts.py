"""What a matplotlib program draws: texts, calls, colours and the places of its axes.

The four are those of ChartMimic's low-level scores (Yang et al. 2024,
https://arxiv.org/abs/2406.09961, Sec. 3.3). The authors run a program once for each, with code of
theirs before and behind it; here one run records all four.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from snellen.generated_code.chart_calls import record_calls
from snellen.generated_code.chart_colours import ColourRecorder

PROGRAM_LIBRARIES = {
    "numpy": "numpy",
    "matplotlib": "matplotlib",
    "matplotlib.pyplot": "matplotlib",
    "matplotlib.gridspec": "matplotlib",
    "matplotlib.backends.backend_agg": "matplotlib",
    "matplotlib.backends.backend_pdf": "matplotlib",
    "mpl_toolkits.mplot3d": "matplotlib",
    "pandas": "pandas",
    "scipy.stats": "scipy",
    "networkx": "networkx",
    "squarify": "squarify",
    "matplotlib_venn": "matplotlib-venn",
    "seaborn": "seaborn",
}
"""Modules that programs about charts import, with the distributions that have them. Workers load
those that are installed before they fork, so that no program waits for them."""

_MOST_PIXELS, _MOST_DPI = 2048, 200
"""Longest side of a picture in pixels, and its resolution if it is smaller."""


Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Name = Annotated[str, Meta(max_length=200)]
MappedColour = Annotated[str, Meta(max_length=200, pattern="^(#[0-9A-F]{6}([0-9A-F]{2})?|[^#].*)$")]
_MOST = Meta(max_length=100_000)


class AxesPlace(Struct, frozen=True, array_like=True):
    """Where axes stand in their grid; rows and columns count from 0, the last ones included."""

    rows: Count
    columns: Count
    first_row: Count
    last_row: Count
    first_column: Count
    last_column: Count


class ChartContents(Struct, frozen=True):
    """What a program has drawn when it ends, in its current figure. A report that is not within
    these bounds is refused."""

    texts: Annotated[tuple[str, ...], _MOST]
    """Every text of the chart but the labels of ticks, as often as it is drawn."""
    calls: Annotated[dict[Name, Count], Meta(max_length=1000)]
    """Calls of plotting functions by the program itself, not by those functions."""
    colours: Annotated[tuple[tuple[Name, MappedColour], ...], _MOST]
    """Plotting function and colour (`#RRGGBB`), or colour map; each pair once."""
    places: Annotated[tuple[AxesPlace, ...], _MOST]
    """Of axes that stand in a grid."""
    axes: Count
    """Number of all axes."""


class ObservedChart:
    """The chart of the program that runs in a process whose charts are observed."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.texts: list[str] = []
        self.colours = ColourRecorder()

    def contents(self) -> ChartContents:
        """Draw the current figure as PDF, without ticks, and return what was drawn."""
        from matplotlib import pyplot

        for axes in pyplot.gcf().get_axes():
            axes.set_xticks([])
            axes.set_yticks([])
        pyplot.savefig(io.BytesIO(), format="pdf")
        figure = pyplot.gcf()
        return ChartContents(
            texts=tuple(self.texts),
            calls=dict(self.calls),
            colours=tuple(self.colours.final()),
            places=tuple(_places(figure)),
            axes=len(figure.axes),
        )

    def draw(self) -> bytes:
        """The current figure as PNG."""
        from matplotlib import pyplot

        out = io.BytesIO()
        longest = max(pyplot.gcf().get_size_inches())
        pyplot.savefig(out, format="png", dpi=min(_MOST_DPI, _MOST_PIXELS / longest))
        return out.getvalue()


def _places(figure: Any) -> Iterator[AxesPlace]:
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is not None:
            rows, columns = place.get_gridspec().get_geometry()
            down, across = place.rowspan, place.colspan
            yield AxesPlace(rows, columns, down.start, down.stop - 1, across.start, across.stop - 1)


def observe_charts() -> ObservedChart:
    """Record from now on what is plotted in this process and in those that are forked of it: each
    of these has the chart of its own program. Raises ImportError without matplotlib."""
    from matplotlib.backends.backend_pdf import RendererPdf

    chart = ObservedChart()
    # Colours of polar axes are recorded in methods of their own, which call those that count.
    record_calls(chart.calls)
    chart.colours.install()
    renderer_type: Any = RendererPdf
    draw_text = renderer_type.draw_text

    def record_text(renderer: Any, gc: Any, x: float, y: float, text: str, *rest: Any, **named: Any) -> Any:
        chart.texts.append(str(text))
        return draw_text(renderer, gc, x, y, text, *rest, **named)

    renderer_type.draw_text = record_text
    return chart

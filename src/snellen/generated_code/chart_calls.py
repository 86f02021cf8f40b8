"""Counts the calls of plotting functions that a program makes.

A function that calls another plotting function counts alone: a histogram is one call, not one and
its bars.
"""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_AXES = (
    "bar",
    "barh",
    "plot",
    "axhline",
    "axvline",
    "axvspan",
    "axhspan",
    "hlines",
    "vlines",
    "errorbar",
    "boxplot",
    "violinplot",
    "violin",
    "hist",
    "fill_between",
    "fill_betweenx",
    "scatter",
    "quiver",
    "pie",
    "fill",
    "imshow",
    "pcolor",
    "contour",
    "contourf",
    "broken_barh",
    "tripcolor",
)
_AXES_3D = {
    "scatter": "scatter",
    "bar": "bar",
    "bar3d": "bar3d",
    "plot": "plot 3d",
    "plot_surface": "plot_surface",
    "add_collection3d": "add_collection3d",
}
"""Methods of three-dimensional axes to the names they count under; the authors' two kinds of
scatter plots and of bars are one."""
NETWORK_FUNCTIONS = ("draw_networkx_nodes", "draw_networkx_edges", "draw_networkx_labels")


class PlottingFunction(NamedTuple):
    """A function that is replaced by one that records."""

    owner: Any
    attribute: str
    name: str


class OutermostCalls:
    """Whether a recorded function is running, so that those that it calls are not recorded."""

    def __init__(self) -> None:
        self._running = False

    def wrap(self, function: PlottingFunction, record: Callable[[tuple[Any, ...], dict[str, Any], Any], None]) -> None:
        """Replace a function by one that calls `record` with arguments and result, for calls that
        no other recorded function makes."""
        original = getattr(function.owner, function.attribute)

        @functools.wraps(original)
        def call_and_record(*args: Any, **named: Any) -> Any:
            if self._running:
                return original(*args, **named)
            self._running = True
            try:
                result = original(*args, **named)
                record(args, named, result)
            finally:
                self._running = False
            return result

        setattr(function.owner, function.attribute, call_and_record)


def optional_module(name: str) -> Any:
    """The module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def network_functions() -> Iterator[PlottingFunction]:
    """networkx' functions that draw, under both of their addresses."""
    for module in map(optional_module, ("networkx.drawing.nx_pylab", "networkx")):
        if module is not None:
            for name in NETWORK_FUNCTIONS:
                yield PlottingFunction(module, name, name)


def shapes() -> Iterator[PlottingFunction]:
    """Shapes that programs make themselves, and the areas of Venn diagrams."""
    patches, image = map(optional_module, ("matplotlib.patches", "matplotlib.image"))
    yield PlottingFunction(patches.Ellipse, "__init__", "ellipse")
    yield PlottingFunction(patches.Circle, "__init__", "ellipse")
    yield PlottingFunction(image.NonUniformImage, "__init__", "image")
    venn = optional_module("matplotlib_venn._common")
    if venn is not None:
        yield PlottingFunction(venn.VennDiagram, "__init__", "venn")
    squarify = optional_module("squarify")
    if squarify is not None:
        yield PlottingFunction(squarify, "plot", "treemap")


def record_calls(calls: Counter[str]) -> None:
    """Count into `calls` from now on."""
    from matplotlib.axes import Axes
    from matplotlib.projections.polar import PolarAxes

    solid = optional_module("mpl_toolkits.mplot3d").Axes3D
    outermost = OutermostCalls()

    def count(name: str, args: tuple[Any, ...], named: dict[str, Any], result: Any) -> None:
        is_polar = name == "plot" and bool(args) and isinstance(args[0], PolarAxes)
        calls["plot polar" if is_polar else name] += 1

    functions = [
        *(PlottingFunction(Axes, name, name) for name in _AXES),
        *network_functions(),
        *(PlottingFunction(solid, name, kind) for name, kind in _AXES_3D.items()),
        *shapes(),
    ]
    for function in functions:
        outermost.wrap(function, functools.partial(count, function.name))

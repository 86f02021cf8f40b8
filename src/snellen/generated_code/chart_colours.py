"""Records which colours a program plots with, by plotting function.

What is recorded is the thing that was drawn, under the function and the colour with which it was
made; its colours are read when the program has ended, so that a later change counts. Of several
things that one function made in one colour the last stands for all, as in the authors' code.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from snellen.generated_code.chart_calls import (
    OutermostCalls,
    PlottingFunction,
    network_functions,
    optional_module,
    shapes,
)

ReadColours = Callable[[Any], Iterable[Any]]
"""The colours of a drawn thing, as matplotlib gives them; a text is the name of a colour map."""

_UNEXPECTED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class _ColourMap(str):
    """The name of a colour map, which is no colour."""


class ColouredThing(NamedTuple):
    """Something that was drawn, and how its colours are read when the program has ended."""

    thing: Any
    colours: tuple[str, ...]
    """Those it was made with."""
    read: ReadColours


Things = Callable[[tuple[Any, ...], Mapping[str, Any], Any], Iterator[ColouredThing]]
"""The coloured things that a call made: from its arguments and its result."""


def hex_colour(colour: Any) -> str | None:
    """`#RRGGBB` in capitals; a text that is a hexadecimal colour already keeps its opacity. None if
    matplotlib knows no such colour."""
    from matplotlib import colors

    if isinstance(colour, _ColourMap):
        return str(colour)
    if isinstance(colour, str) and colour.startswith("#") and len(colour) in (7, 9):
        return colour.upper()
    try:
        return str(colors.to_hex(colour)).upper()
    except (ValueError, TypeError):
        return None


class ColourRecorder:
    """Records coloured things from `install` on."""

    def __init__(self) -> None:
        self._things: dict[tuple[str, str], ColouredThing] = {}

    def install(self) -> None:
        """Replace the plotting functions by recording ones, for good."""
        outermost = OutermostCalls()
        for function, things in _recorded_functions():
            outermost.wrap(function, functools.partial(self._record, function.name, things))

    def _record(self, name: str, things: Things, args: tuple[Any, ...], named: dict[str, Any], result: Any) -> None:
        # What is not of the expected kind has no colour that is known, and harms no program.
        with contextlib.suppress(*_UNEXPECTED):
            for thing in things(args, named, result):
                # Of many colours the last names the thing; it is read for all of them.
                self._things[name, thing.colours[-1]] = thing

    def final(self) -> list[tuple[str, str]]:
        """The pairs of function and colour, each once, in the order in which they came."""
        found: dict[tuple[str, str], None] = {}
        for (name, _), thing in self._things.items():
            with contextlib.suppress(*_UNEXPECTED):
                for colour in map(hex_colour, thing.read(thing.thing)):
                    if colour is not None:
                        found[name, colour] = None
        return list(found)


def _things(thing: Any, read: ReadColours) -> Iterator[ColouredThing]:
    """The thing, if it has a colour now."""
    colours = tuple(filter(None, map(hex_colour, read(thing))))
    if colours:
        yield ColouredThing(thing, colours, read)


def _one(attribute: str) -> ReadColours:
    """The one colour that an attribute of matplotlib's has."""
    return lambda thing: (getattr(thing, f"get_{attribute}")(),)


def _all(attribute: str) -> ReadColours:
    """The colours that an attribute has, one for each part."""
    return lambda thing: tuple(getattr(thing, f"get_{attribute}")())


_colour, _face, _faces = _one("color"), _one("facecolor"), _all("facecolor")


def _plain_face(bar: Any) -> Iterable[Any]:
    """The colour of a bar before its opacity."""
    return (getattr(bar, "_original_facecolor", None),)


def _first_face(thing: Any) -> Iterable[Any]:
    return tuple(_faces(thing))[:1]


def _edges(thing: Any) -> Iterable[Any]:
    if isinstance(thing, list):
        return [arrow.get_facecolor() for arrow in thing]
    return tuple(thing.get_edgecolor())


def _map(thing: Any) -> Iterable[Any]:
    return (_ColourMap(thing.get_cmap().name),)


def _areas(venn: Any) -> Iterable[Any]:
    return [area.get_facecolor() for area in venn.patches if area is not None]


def _result(read: ReadColours) -> Things:
    """The result of the call is one thing."""
    return lambda args, named, result: _things(result, read)


def _self(read: ReadColours) -> Things:
    """What was made is the first argument, as in `__init__`."""
    return lambda args, named, result: _things(args[0], read)


def _each(select: Callable[[Any], Iterable[Any]], read: ReadColours) -> Things:
    """The result holds several things."""
    return lambda args, named, result: chain.from_iterable(_things(thing, read) for thing in select(result))


def _mapped_or(read: ReadColours) -> Things:
    """Points in the colours of a map that the call names, else in colours of their own."""

    def things(args: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Iterator[ColouredThing]:
        cmap = named.get("cmap")
        if cmap is None:
            yield from _things(result, read)
            return
        name = _ColourMap(cmap if isinstance(cmap, str) else cmap.name)
        yield ColouredThing(result, (name,), lambda thing: (name,))

    return things


def _collection(args: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Iterator[ColouredThing]:
    """Older matplotlib returns nothing of `add_collection3d`."""
    thing = result if result is not None else args[1] if len(args) > 1 else named.get("col")
    yield from _things(thing, _faces)


def _histogram_bars(result: Any) -> Iterator[Any]:
    """The bars or outlines of a histogram of one row of data or of several."""
    for patch in result[2]:
        yield from (patch if isinstance(patch, list | tuple) else (patch,))


_AXES: dict[str, Things] = {
    "bar": _each(tuple, _plain_face),
    "scatter": _mapped_or(_first_face),
    "axhline": _result(_colour),
    "axvline": _result(_colour),
    "_fill_between_x_or_y": _result(_first_face),
    "pie": _each(lambda result: result[0], _face),
    "axvspan": _result(_face),
    "axhspan": _result(_face),
    "hlines": _result(_edges),
    "vlines": _result(_edges),
    "boxplot": _each(lambda result: [box for box in result["boxes"] if hasattr(box, "get_facecolor")], _face),
    "violinplot": _each(lambda result: result["bodies"], _first_face),
    "hist": _each(_histogram_bars, _face),
    "quiver": _result(_faces),
    "imshow": _result(_map),
    "pcolor": _result(_map),
    "contour": _result(_map),
    "contourf": _result(_map),
    "fill": _each(tuple, _face),
    "broken_barh": _result(_faces),
    "tripcolor": _result(_map),
}
_AXES_3D: dict[str, Things] = {
    "scatter": _mapped_or(_faces),
    "plot": _each(tuple, _colour),
    "plot_surface": _mapped_or(_first_face),
    "bar3d": _result(_first_face),
    "bar": _each(tuple, _face),
    "add_collection3d": _collection,
}
_SHAPES: dict[str, Things] = {
    "ellipse": _self(_face),
    "image": _self(_map),
    "venn": _self(_areas),
    "treemap": _each(lambda axes: [bar for bars in axes.containers for bar in bars], _face),
}
_NETWORKS: dict[str, Things] = {
    "draw_networkx_nodes": _result(_faces),
    "draw_networkx_edges": _result(_edges),
    "draw_networkx_labels": _each(lambda labels: labels.values(), _colour),
}


def _recorded_functions() -> Iterator[tuple[PlottingFunction, Things]]:
    axes, base, polar, solid = map(
        optional_module,
        ("matplotlib.axes", "matplotlib.axes._base", "matplotlib.projections.polar", "mpl_toolkits.mplot3d"),
    )
    lines = base._process_plot_var_args
    # Called `_makeline` up to matplotlib 3.8. VLMEvalKit records nothing under the newer name.
    make_line = "_makeline" if hasattr(lines, "_makeline") else "_make_line"
    yield PlottingFunction(lines, make_line, "line"), _each(lambda result: result[:1], _colour)
    for name, things in _AXES.items():
        yield PlottingFunction(axes.Axes, name, name), things
    yield PlottingFunction(polar.PolarAxes, "plot", "plot polar"), _each(tuple, _colour)
    yield PlottingFunction(polar.PolarAxes, "scatter", "scatter polar"), _AXES["scatter"]
    for function in network_functions():
        yield function, _NETWORKS[function.name]
    for name, things in _AXES_3D.items():
        yield PlottingFunction(solid.Axes3D, name, f"{name} 3d"), things
    for function in shapes():
        yield function, _SHAPES[function.name]

"""The plots of a task map: tree, distances, and tau by distance (MMT-Bench, Fig. 5, Table 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.arrays import np
from snellen.report.plots.figure import (
    FAINT,
    NO_VALUE,
    PALETTE,
    add_tooltip,
    cycle,
    ink_on,
    new_plot,
    plot_style,
    shades,
    to_svg,
)
from snellen.taskmap.agreement import NearTau
from snellen.taskmap.clusters import Tree
from snellen.taskmap.findings import SeedMap, TaskMap, TaskMapFindings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TREE, DISTANCES, TAU, SEEDS = "dendrogram.svg", "distances.svg", "tau.svg", "seeds.svg"
CONTROL = "control.svg"
_ROW, _DEPTH = 0.19, 4.6
"""Inches of a task's row in the tree, and of its axis of distances."""
_CELL, _SMALL_CELL = 0.28, 0.08
_BAR = 2.2
"""Inches of the key of distances."""
_MAX_LABELLED = 40
"""Tasks of a map whose cells have room for their distances."""
_SEED_SIDE, _SEED_GAP = 2.4, 0.25
"""Inches of the map of one seed, and between two of them."""
_TAU_WIDTH, _TAU_HEIGHT = 4.8, 2.1
_ABOVE = "#8a8a8a"
"""The colour of branches above the clusters."""


def taskmap_plots(findings: TaskMapFindings) -> dict[str, str]:
    """Texts of the SVG files by name, without those for which there are no numbers. Raises
    MissingExtra."""
    texts: dict[str, str] = {}
    task_map = findings.map
    if task_map is not None:
        order, title = task_map.tree.order, _title(task_map)
        ordered = [[task_map.distances[row][column] for column in order] for row in order]
        texts[TREE] = to_svg(tree_figure(task_map))
        labels = [task_map.tasks[task].task for task in order]
        texts[DISTANCES] = to_svg(distance_map(labels, ordered, title))
        if (control := task_map.control) is not None:
            beside = [[control.distances[row][column] for column in order] for row in order]
            texts[CONTROL] = to_svg(distance_map(labels, beside, f"Control: {control.control}"))
        if task_map.by_seed:
            texts[SEEDS] = to_svg(seed_maps(task_map.by_seed, order, title))
    if findings.agreement is not None:
        near = [row for row in findings.agreement.by_distance if row.tau is not None]
        if len(near) > 1:
            texts[TAU] = to_svg(tau_curve(near))
    return texts


def tree_figure(task_map: TaskMap) -> Figure:
    """The tree of a map with its clusters."""
    names = [task.task for task in task_map.tasks]
    return dendrogram(task_map.tree, names, task_map.clusters, _title(task_map))


def _title(task_map: TaskMap) -> str:
    return f"Tasks of {task_map.benchmark} as {task_map.model} learns them"


@plot_style()
def dendrogram(tree: Tree, names: Sequence[str], clusters: Sequence[Sequence[str]], title: str) -> Figure:
    """The tree over `names` (in the order of its node numbers), tasks below one another and the
    distance to the right. Clusters, from top to bottom, have a colour and a number."""
    from scipy.cluster import hierarchy

    figure, axes = new_plot(_DEPTH, _ROW * len(names), title)
    tallest = max(merge.height for merge in tree.merges) or 1.0
    colours = _branch_colours(tree, names, clusters)
    drawing = hierarchy.dendrogram(
        _linkage_matrix(tree), no_plot=True, color_threshold=0, link_color_func=colours.__getitem__
    )
    for depths, places, colour in zip(drawing["dcoord"], drawing["icoord"], drawing["color_list"], strict=True):
        # scipy puts leaf k at 10 k + 5.
        rows = [(place - 5) / 10 for place in places]
        (line,) = axes.plot(depths, rows, color=colour, lw=1.5, solid_joinstyle="miter")
        add_tooltip(line, f"joined at a distance of {depths[1]:.3f}")
    axes.set_xlim(0, tallest * 1.02)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [names[leaf] for leaf in drawing["leaves"]])
    axes.grid(axis="x")
    axes.set_xlabel("cosine distance")
    top = -0.5
    for index, members in enumerate(clusters):
        bottom, colour = top + len(members), cycle(PALETTE, index)
        x = tallest * 1.05
        axes.plot([x, x], [top + 0.15, bottom - 0.15], color=colour, lw=3, clip_on=False, solid_capstyle="butt")
        axes.text(tallest * 1.07, (top + bottom) / 2, str(index + 1), color=colour, fontweight="bold", va="center")
        top = bottom
    return figure


def _linkage_matrix(tree: Tree) -> list[list[float]]:
    """The tree as scipy has it: left, right, height, and the number of tasks of each merge."""
    counts = dict.fromkeys(tree.order, 1)
    for node, merge in enumerate(tree.merges, start=len(tree.order)):
        counts[node] = counts[merge.left] + counts[merge.right]
    return [
        [merge.left, merge.right, merge.height, counts[node]]
        for node, merge in enumerate(tree.merges, start=len(tree.order))
    ]


def _branch_colours(tree: Tree, names: Sequence[str], clusters: Sequence[Sequence[str]]) -> Mapping[int, str]:
    """The colour of each node: its cluster's, or grey if it joins tasks of several clusters."""
    cluster_of = {name: index for index, members in enumerate(clusters) for name in members}
    cluster: dict[int, int | None] = {leaf: cluster_of.get(names[leaf]) for leaf in tree.order}
    for node, merge in enumerate(tree.merges, start=len(tree.order)):
        left, right = cluster[merge.left], cluster[merge.right]
        cluster[node] = left if left == right else None
    return {node: _ABOVE if index is None else cycle(PALETTE, index) for node, index in cluster.items()}


@plot_style()
def distance_map(names: Sequence[str], distances: Sequence[Sequence[float]], title: str) -> Figure:
    """Square map of `distances`, rows and columns in the order given, darker for nearer; the
    distance is in its cell where there is room."""
    labelled = len(names) <= _MAX_LABELLED
    side = (_CELL if labelled else _SMALL_CELL) * len(names)
    figure, axes = new_plot(side, side, title)
    values = np.array(distances)
    np.fill_diagonal(values, np.nan)
    colours = shades().reversed()
    nearest, farthest = float(np.nanmin(values)), float(np.nanmax(values))
    axes.set_facecolor(NO_VALUE)
    # Thousands of cells are an image inside the SVG file, a few are shapes.
    mesh = axes.pcolormesh(
        values,
        cmap=colours,
        edgecolors="white",
        linewidth=0.8 if labelled else 0.1,
        rasterized=not labelled,
        vmin=nearest,
        vmax=farthest,
    )
    middles, size = np.arange(len(names)) + 0.5, 9 if labelled else 5
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.set_xticks(middles, names, rotation=48, ha="left", rotation_mode="anchor", fontsize=size, color="black")
    axes.set_yticks(middles, names, fontsize=size)
    centred: Any = {"ha": "center", "va": "center_baseline", "fontsize": 7}
    for row, column in zip(*np.nonzero(~np.isnan(values)), strict=True) if labelled else ():
        distance = float(values[row, column])
        colour = ink_on(colours((distance - nearest) / ((farthest - nearest) or 1.0)))
        text = axes.text(column + 0.5, row + 0.5, f"{distance:.2f}".removeprefix("0"), color=colour, **centred)
        add_tooltip(text, f"{names[row]}, {names[column]}: {distance:.3f}")
    bar = figure.add_axes((0, -0.28 / side, _BAR / side, 0.12 / side))
    figure.colorbar(mesh, cax=bar, orientation="horizontal", label="cosine distance")
    return figure


@plot_style()
def seed_maps(maps: Sequence[SeedMap], order: Sequence[int], title: str) -> Figure:
    """The maps of all seeds side by side, rows and columns of each in `order`, darker for nearer,
    on one scale. Above each: for how many tasks its halves are nearest to each other."""
    tasks = np.array(order)
    values = [np.array(each.distances)[np.ix_(tasks, tasks)] for each in maps]
    for each in values:
        np.fill_diagonal(each, np.nan)
    nearest = min(float(np.nanmin(each)) for each in values)
    farthest = max(float(np.nanmax(each)) for each in values)
    figure, axes = new_plot(_SEED_SIDE, _SEED_SIDE, title)
    step = 1 + _SEED_GAP / _SEED_SIDE
    places = [axes, *(figure.add_axes((n * step, 0, 1, 1)) for n in range(1, len(maps)))]
    for place, each, distances in zip(places, maps, values, strict=True):
        place.set_facecolor(NO_VALUE)
        mesh = place.pcolormesh(distances, cmap=shades().reversed(), rasterized=True, vmin=nearest, vmax=farthest)
        place.invert_yaxis()
        place.set_xticks([])
        place.set_yticks([])
        recovered = each.tested - len(each.failing)
        share = f": {recovered} of {each.tested} tasks" if each.tested else ""
        place.set_xlabel(f"seed {each.seed}{share}")
    bar = figure.add_axes((0, -0.36 / _SEED_SIDE, 0.8, 0.1 / _SEED_SIDE))
    figure.colorbar(mesh, cax=bar, orientation="horizontal", label="cosine distance")
    return figure


@plot_style()
def tau_curve(near: Sequence[NearTau], title: str = "Do models rank alike on near tasks?") -> Figure:
    """Tau at each threshold that has one, with the number of pairs in brackets."""
    points = sorted((row.threshold, row.tau, row.pairs) for row in near if row.tau is not None)
    figure, axes = new_plot(_TAU_WIDTH, _TAU_HEIGHT, title)
    axes.plot([x for x, *_ in points], [y for _, y, _ in points], color=PALETTE[0], lw=1.6, marker="o", markersize=5)
    for index, (threshold, tau, pairs) in enumerate(points):
        rises = index + 1 < len(points) and points[index + 1][1] > tau
        falls = index > 0 and points[index - 1][1] > tau
        is_end = index in (0, len(points) - 1)
        below = (rises and falls) or (is_end and (rises or falls))
        axes.annotate(
            f"{tau:.2f} ({pairs})",
            (threshold, tau),
            xytext=(0, -14 if below else 7),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )
    smallest = min((threshold for threshold, *_ in points), default=0.0)
    axes.set_xlim(0.0 if smallest <= 0.5 else math.floor(10 * smallest - 1e-9) / 10 - 0.02, 1.03)
    low, high = min(0.0, *(tau for _, tau, _ in points)), max(0.0, *(tau for _, tau, _ in points))
    axes.set_ylim(low - 0.12 * (high - low), high + 0.16 * (high - low))
    axes.grid(axis="y")
    axes.tick_params(axis="y", labelcolor=FAINT)
    axes.axhline(0, color=FAINT, lw=0.8)
    axes.set_xlabel("tasks no farther apart than this share of the largest distance; (pairs)")
    axes.set_ylabel("Kendall's tau")
    return figure

"""A tree of tasks as self-contained SVG: the tasks below one another, the distance to the right.

Clusters have colours that colour-blind people tell apart, and a number beside a bracket.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from snellen.taskmap.clusters import Tree

ROW, DEPTH = 18, 440
"""Pixels of a task's row, and of the axis."""
_HEAD, _FOOT, _BRACKET = 34, 42, 46
_CHARACTER = 6.4
_FONT = 'font-family="Helvetica, Arial, sans-serif"'
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#8c6d00", "#56b4e9", "#882255", "#44546a")
_ABOVE = "#8a8a8a"


def dendrogram(
    tree: Tree, names: Sequence[str], clusters: Sequence[Sequence[str]], title: str
) -> str:
    """The tree over `names` (in the order of its numbers), its clusters from top to bottom."""
    left = 14 + round(_CHARACTER * max(len(name) for name in names))
    width, height = left + DEPTH + _BRACKET, _HEAD + ROW * len(names) + _FOOT
    tallest = max(merge.height for merge in tree.merges) or 1.0
    members = {name: number for number, found in enumerate(clusters) for name in found}
    ordered = [names[leaf] for leaf in tree.order]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {_FONT} font-size="11" role="img" '
        f'aria-label="{escape(title, quote=True)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        *_axis(left, tallest, _HEAD + ROW * len(names)),
    ]
    for at, name in enumerate(ordered):
        y = _HEAD + ROW * at + 13
        parts.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{escape(name)}</text>')
    parts += _branches(tree, names, members, left, tallest)
    parts += _brackets(clusters, left + DEPTH + 8)
    return "".join(parts) + "</svg>\n"


def _branches(
    tree: Tree, names: Sequence[str], members: dict[str, int], left: int, tallest: float
) -> list[str]:
    """A fork for each merge, in its cluster's colour where it joins tasks of one cluster."""
    middles = {leaf: _HEAD + ROW * at + ROW / 2 for at, leaf in enumerate(tree.order)}
    reach = dict.fromkeys(tree.order, 0.0)
    cluster: dict[int, int | None] = {leaf: members[names[leaf]] for leaf in tree.order}
    parts = []
    for number, merge in enumerate(tree.merges, start=len(tree.order)):
        one, other = cluster[merge.left], cluster[merge.right]
        cluster[number] = one if one == other else None
        x = left + DEPTH * merge.height / tallest
        ends = [
            (left + DEPTH * reach[node] / tallest, middles[node], _colour(cluster[node]))
            for node in (merge.left, merge.right)
        ]
        told = f"<title>joined at a distance of {merge.height:.3f}</title>"
        for start, y, colour in ends:
            parts.append(
                f'<path d="M{start:.1f},{y:.1f}H{x:.1f}" fill="none" stroke="{colour}" '
                'stroke-width="1.6"/>'
            )
        parts.append(
            f'<path d="M{x:.1f},{ends[0][1]:.1f}V{ends[1][1]:.1f}" fill="none" '
            f'stroke="{_colour(cluster[number])}" stroke-width="1.6">{told}</path>'
        )
        middles[number] = (ends[0][1] + ends[1][1]) / 2
        reach[number] = merge.height
    return parts


def _colour(cluster: int | None) -> str:
    return _ABOVE if cluster is None else _COLOURS[cluster % len(_COLOURS)]


def _axis(left: int, tallest: float, bottom: int) -> list[str]:
    step = next(one for one in (0.05, 0.1, 0.2, 0.5) if tallest / one <= 8)
    parts = []
    for at in range(int(tallest / step) + 1):
        x = left + DEPTH * at * step / tallest
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_HEAD}" y2="{bottom}" stroke="#e4e4e4"/>'
            f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" fill="#555555">'
            f"{at * step:g}</text>"
        )
    parts.append(
        f'<text x="{left + DEPTH / 2:g}" y="{bottom + 32}" text-anchor="middle" fill="#555555">'
        "cosine distance</text>"
    )
    return parts


def _brackets(clusters: Sequence[Sequence[str]], x: int) -> list[str]:
    parts, top = [], _HEAD
    for number, found in enumerate(clusters):
        bottom = top + ROW * len(found)
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{top + 3}" y2="{bottom - 3}" '
            f'stroke="{_colour(number)}" stroke-width="3"/>'
            f'<text x="{x + 8}" y="{(top + bottom) / 2 + 4:g}" font-weight="bold" '
            f'fill="{_colour(number)}">{number + 1}</text>'
        )
        top = bottom
    return parts

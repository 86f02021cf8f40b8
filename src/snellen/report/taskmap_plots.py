"""The plots of a task map: tree, distances, and tau by distance (MMT-Bench, Fig. 5, Table 3)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from snellen.analysis.taskmap.agreement import NearTau
from snellen.analysis.taskmap.findings import Findings, TaskMap
from snellen.report.dendrogram import dendrogram
from snellen.report.distance_map import distance_map

TREE, DISTANCES, TAU = "dendrogram.svg", "distances.svg", "tau.svg"
_WIDTH, _HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 40, 52
_FONT = 'font-family="Helvetica, Arial, sans-serif"'


def plots(findings: Findings) -> dict[str, str]:
    """Texts of the SVG files by name; what there are no numbers for is left out."""
    found: dict[str, str] = {}
    if findings.map is not None:
        names = [task.task for task in findings.map.tasks]
        order = findings.map.tree.order
        ordered = [[findings.map.distances[row][at] for at in order] for row in order]
        title = _title(findings.map)
        found[TREE] = dendrogram(findings.map.tree, names, findings.map.clusters, title)
        found[DISTANCES] = distance_map([names[at] for at in order], ordered, title)
    if findings.agreement is not None:
        known = [one for one in findings.agreement.by_distance if one.tau is not None]
        if len(known) > 1:
            found[TAU] = tau_curve(known)
    return found


def _title(found: TaskMap) -> str:
    return f"Tasks of {found.benchmark} as {found.model} learns them"


def tau_curve(points: Sequence[NearTau], title: str = "Models rank alike on near tasks") -> str:
    """Tau at each threshold, the number of pairs beside it."""
    taus = [one.tau for one in points if one.tau is not None]
    low, high = min(0.0, *taus), max(0.0, *taus)
    step = next(one for one in (0.05, 0.1, 0.2, 0.25, 0.5) if (high - low) / one <= 6)
    first = int(low // step) if low < 0 else 0
    last = -int(-high // step)
    bottom = _HEIGHT - _BOTTOM

    def x(threshold: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * threshold

    def y(tau: float) -> float:
        return bottom - (bottom - _TOP) * (tau / step - first) / max(1, last - first)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" {_FONT} font-size="11" role="img" '
        f'aria-label="{escape(title, quote=True)}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for at in range(first, max(last, first + 1) + 1):
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(at * step):.1f}" '
            f'y2="{y(at * step):.1f}" stroke="{"#777777" if at == 0 else "#e4e4e4"}"/>'
            f'<text x="{_LEFT - 8}" y="{y(at * step) + 4:.1f}" text-anchor="end" '
            f'fill="#555555">{at * step:g}</text>'
        )
    for quarter in range(5):
        parts.append(
            f'<text x="{x(quarter / 4):.1f}" y="{bottom + 16}" text-anchor="middle" '
            f'fill="#555555">{quarter / 4:g}</text>'
        )
    line = " ".join(f"{x(one.threshold):.1f},{y(one.tau or 0.0):.1f}" for one in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    for one in points:
        tau = one.tau or 0.0
        told = f"{tau:.2f} ({one.pairs})"
        anchor = "end" if one.threshold > 0.9 else "start"
        parts.append(
            f'<circle cx="{x(one.threshold):.1f}" cy="{y(tau):.1f}" r="4" fill="#0072b2"/>'
            f'<text x="{x(one.threshold) + (-6 if anchor == "end" else 6):.1f}" '
            f'y="{y(tau) - 8:.1f}" text-anchor="{anchor}">{told}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle:g}" y="{bottom + 36}" text-anchor="middle" fill="#555555">'
        "tasks no farther apart than this share of the largest distance; (pairs)</text>"
        f'<text transform="translate(16 {(bottom + _TOP) / 2:g}) rotate(-90)" '
        'text-anchor="middle" fill="#555555">Kendall\'s tau</text>'
    )
    return "".join(parts) + "</svg>\n"

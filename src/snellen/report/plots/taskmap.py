"""The plots of a task map: tree, distances, and tau by distance (MMT-Bench, Fig. 5, Table 3)."""

from __future__ import annotations

from snellen.report.plots.dendrogram import dendrogram
from snellen.report.plots.distance_map import distance_map
from snellen.report.plots.tau_curve import tau_curve
from snellen.taskmap.findings import TaskMapFindings

TREE, DISTANCES, TAU = "dendrogram.svg", "distances.svg", "tau.svg"


def plots(findings: TaskMapFindings) -> dict[str, str]:
    """Texts of the SVG files by name; what there are no numbers for is left out."""
    texts: dict[str, str] = {}
    if findings.map is not None:
        found = findings.map
        names = [task.task for task in found.tasks]
        order = found.tree.order
        ordered = [[found.distances[row][at] for at in order] for row in order]
        title = f"Tasks of {found.benchmark} as {found.model} learns them"
        texts[TREE] = dendrogram(found.tree, names, found.clusters, title)
        texts[DISTANCES] = distance_map([names[at] for at in order], ordered, title)
    if findings.agreement is not None:
        known = [one for one in findings.agreement.by_distance if one.tau is not None]
        if len(known) > 1:
            texts[TAU] = tau_curve(known)
    return texts

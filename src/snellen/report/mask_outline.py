"""Masks as outlines: what a page draws over a picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from snellen.core.arrays import np
from snellen.core.place import Mask
from snellen.scoring.places.masks import pixels_of_mask

_MAX_SIDE = 512
"""Pixels of the longer side at which an outline is followed."""
_SIDES = ((-1, 0, (0, 0), (1, 0)), (0, 1, (1, 0), (0, 1)), (1, 0, (1, 1), (-1, 0)), (0, -1, (0, 1), (0, -1)))
"""The four sides of a pixel: where its neighbour is (down, across), and the corner (x, y) at which
the edge begins, with the step to its end. All edges lead clockwise around the pixel."""

_Corner = tuple[int, int]


def outline_mask(mask: Mask) -> str:
    """The outline of a mask along the edges of its pixels, as the data of an SVG path; of a large
    picture along those of every second, third, ... pixel. Raises DataError."""
    step = -(-max(mask.width, mask.height) // _MAX_SIDE)
    pixels = np.pad(pixels_of_mask(mask)[::step, ::step], 1)
    ends: dict[_Corner, list[_Corner]] = {}
    for down, across, (x0, y0), (dx, dy) in _SIDES:
        is_edge = pixels & ~np.roll(pixels, (-down, -across), (0, 1))
        for y, x in np.argwhere(is_edge).tolist():
            start = (x - 1 + x0, y - 1 + y0)
            ends.setdefault(start, []).append((start[0] + dx, start[1] + dy))
    paths = []
    while ends:
        corners = [next(iter(ends))]
        while (following := ends.get(corners[-1])) is not None:
            corners.append(following.pop())
            if not following:
                del ends[corners[-2]]
        paths.append(_path_along(corners, step))
    return "".join(paths)


def _path_along(corners: Sequence[_Corner], step: int) -> str:
    """A closed path along corners that are 1 apart; edges of one direction are joined."""
    steps = ((x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in pairwise(corners))
    path = f"M{corners[0][0] * step} {corners[0][1] * step}"
    for (dx, dy), edges in groupby(steps):
        length = step * len(list(edges))
        path += f"h{dx * length}" if dx else f"v{dy * length}"
    return f"{path}z"

"""ScreenSpot's files, and their rows in one layout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.published import HubSplit, PublishedFile, published_tsv
from snellen.core.errors import DataError, MediaError
from snellen.core.media import image_size
from snellen.core.sample import Row
from snellen.extract.points import Point

VERSION = "version"
PART = "part"
ALL = "all"
ONE, TWO, PRO = "1", "2", "pro"
PLATFORM, ELEMENT, GROUP, APPLICATION = "platform", "element", "group", "application"
PLATFORM_ELEMENT, GROUP_ELEMENT = "platform_element", "group_element"
GROUPS = (PLATFORM, ELEMENT, PLATFORM_ELEMENT, GROUP, GROUP_ELEMENT, APPLICATION)

_HOME = "https://opencompass.openxlab.space/utils/benchmarks/GUI"
_MD5 = {
    (ONE, "mobile"): "a5b5299843a75c9b9574c47bc13b2c53",
    (ONE, "desktop"): "e6e7bac21b6b2475276404fce2458132",
    (ONE, "web"): "e51d168c14b8582427cf3107d236cfc5",
    (TWO, "mobile"): "234c858ab4f0e787e8388a73df65a4b7",
    (TWO, "desktop"): "5f2aa2a497327bd33b2512a0c75cf994",
    (TWO, "web"): "01cd0877ee1b735a6d5190b053ba9482",
    (PRO, "development"): "45b93df1d5814885011d682fe1b0f959",
    (PRO, "creative"): "a15867fee82ba8cd95581895c55f03cd",
    (PRO, "cad"): "0faa3bc29eba359766c3a7ca2c4d8917",
    (PRO, "scientific"): "edc2e1f2b53af5fff6480b77c4986b81",
    (PRO, "office"): "8756c128cf567274c2647423ccc4eaf0",
    (PRO, "os"): "49c3eaaa7df6d22475c39120fe8f1c06",
}
_WHOLE = {
    ONE: HubSplit("hf://rootsautomation/ScreenSpot?split=test"),
    TWO: HubSplit("hf://HongxinLi/ScreenSpot_v2?split=test"),
    PRO: HubSplit("hf://TIGER-Lab/ScreenSpot-Pro?split=test"),
}
_FAMILY = {ONE: "ScreenSpot", TWO: "ScreenSpot_v2", PRO: "ScreenSpot_Pro"}
PARTS = (ALL, *dict.fromkeys(part for _, part in _MD5))
_PLATFORMS = {
    "ios": "mobile",
    "android": "mobile",
    "windows": "desktop",
    "macos": "desktop",
    "gitlab": "web",
    "shop": "web",
    "forum": "web",
    "tool": "web",
}
"""The platform by where a screenshot is from, in versions 1 and 2."""


class Target(NamedTuple):
    """The box of the element, by its corners, in a picture of a size; all in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    width: float
    height: float

    def text(self) -> str:
        """The box as a gold answer."""
        box = ", ".join(f"{number:.10g}" for number in self[:4])
        return f"[{box}] of {self.width:g}x{self.height:g}"

    def to_thousandths(self) -> Target:
        """The same box in a picture of 1000 x 1000."""
        across, down = 1000 / self.width, 1000 / self.height
        box = (self.left * across, self.top * down, self.right * across, self.bottom * down)
        return Target(*box, 1000, 1000)

    def contains(self, point: Point, inset: float = 0.0) -> bool:
        """Whether a point, in fractions of the picture, is in the box or on its edge. `inset` moves
        the right and lower edge by so many pixels."""
        horizontal = self.left / self.width <= point.x <= (self.right - inset) / self.width
        return horizontal and self.top / self.height <= point.y <= ((self.bottom - inset) / self.height)


def parse_target(gold: str) -> Target:
    """The box of a gold answer."""
    box, _, size = gold.partition(" of ")
    return Target(*map(float, box.strip("[]").split(", ")), *map(float, size.split("x")))


def published_files() -> dict[tuple[str, ...], PublishedFile | HubSplit]:
    """The file or data set of each version and part."""
    return {
        **{(version, ALL): split for version, split in _WHOLE.items()},
        **{key: published_tsv(f"{_HOME}/{_FAMILY[key[0]]}/{_name(*key)}.tsv", md5) for key, md5 in _MD5.items()},
    }


def names_elsewhere() -> dict[str, Mapping[str, str]]:
    """VLMEvalKit's and lmms-eval's names, each with the options that it means."""
    whole = {family: {VERSION: version} for version, family in _FAMILY.items() if version != ONE}
    return {
        "ScreenSpot": {},
        **whole,
        **{_name(version, part): {VERSION: version, PART: part} for version, part in _MD5},
    }


def _name(version: str, part: str) -> str:
    title = part.upper() if part in ("cad", "os") else part.capitalize()
    return f"{_FAMILY[version]}_{title}"


def to_common_layout(row: Row, *, pro: bool = False, thousandths: bool = False) -> Row:
    """The row with its instruction as question, its box as gold and its groups.

    With `pro` boxes are two corners, as in ScreenSpot-Pro; with `thousandths` the gold is in
    thousandths of the picture. Raises DataError for a row without a picture and its size, or with a
    box that is none.
    """
    cells = row.cells
    if "bbox" not in cells:
        return row
    target = _target(row, pro)
    changed = {
        "question": cells.get("question") or cells.get("instruction", ""),
        "answer": (target.to_thousandths() if thousandths else target).text(),
    }
    element = cells.get("ui_type") or cells.get("data_type", "")
    if pro:
        group = cells.get("category") or cells.get("group", "")
        groups = {
            GROUP: group,
            ELEMENT: element,
            GROUP_ELEMENT: f"{group}/{element}",
            APPLICATION: cells.get("application", ""),
            PLATFORM: cells.get("platform", ""),
        }
    else:
        source = cells.get("data_source", "")
        platform = _PLATFORMS.get(source, source)
        groups = {PLATFORM: platform, ELEMENT: element, PLATFORM_ELEMENT: f"{platform}/{element}"}
    # A column of these names that a file has of its own would be taken for a group.
    kept = {name: cell for name, cell in cells.items() if name not in GROUPS}
    named = {name: label for name, label in groups.items() if label.strip("/")}
    return structs.replace(row, cells={**kept, **changed, **named})


def _target(row: Row, pro: bool) -> Target:
    """The box in pixels: from x, y, width and height, or two corners, or corners in fractions.
    Raises DataError for a box outside of its picture, which is a sign of another form."""
    numbers = _numbers(row, "bbox", 4)
    width, height = _size(row)
    first, second, third, fourth = numbers
    if max(numbers) <= 1:
        corners = (first * width, second * height, third * width, fourth * height)
    elif pro:
        corners = (first, second, third, fourth)
    else:
        corners = (first, second, first + third, second + fourth)
    if corners[2] > width + 1 or corners[3] > height + 1:
        form = "[x1, y1, x2, y2]" if pro else "[x, y, width, height]"
        raise DataError(
            f"the box {row.cells['bbox']} is not in the picture of "
            f"{width:g}x{height:g} pixels; expected {form} in pixels, or two corners in fractions"
        )
    return Target(*corners, width, height)


def _size(row: Row) -> tuple[float, float]:
    """Width and height of the picture, as the row says or else as its header."""
    if "img_size" in row.cells:
        width, height = _numbers(row, "img_size", 2)
        return width, height
    if not row.media:
        raise DataError("neither a picture nor its size; expected a column image, or img_size with [width, height]")
    try:
        return image_size(row.media[0].source.read())
    except MediaError as error:
        raise DataError(f"the picture's size is unknown: {error}") from error


def _numbers(row: Row, column: str, count: int) -> list[float]:
    cell = row.cells[column]
    try:
        numbers = [float(number) for number in json.loads(cell)]
    except (ValueError, TypeError):
        numbers = []
    if len(numbers) != count:
        raise DataError(f"{column} is {cell[:60]!r}; expected a list of {count} numbers")
    return numbers

"""ScreenSpot: find the element of a user interface that an instruction means (Cheng et al. 2024,
https://arxiv.org/abs/2401.10935); ScreenSpot-v2 corrects its labels (Wu et al. 2024,
https://arxiv.org/abs/2410.23218), ScreenSpot-Pro has large professional screens (Li et al. 2025,
https://arxiv.org/abs/2504.07981).

One example row: index 0, question "view the details of the item", bbox "[42, 1102, 197, 70]" (x, y,
width, height; two corners in ScreenSpot-Pro), data_type "text", data_source "shop", image <base64>.
ScreenSpot-Pro has ui_type, application, platform and category (its authors: group).

A reply is right if its point, or the centre of its box, lies in the element's box. The accuracy is
the headline. Beside it stands the mean of the six cells of platform and kind of element, which is
the average of ScreenSpot's paper, if all six were asked.

Oddities: coordinates up to 1 are fractions of the picture, larger ones pixels of the file, which a
model that resizes its pictures may not know; `coordinates=thousandths` asks for, and reads, numbers
from 0 to 1000. VLMEvalKit's box ends one pixel earlier in versions 1 and 2, and a reply without a
point means the upper left corner there. The authors' scripts (`--rule official`) take fractions
alone. VLMEvalKit's Text_Accuracy and Icon_Accuracy over several groups weigh each group by the
square of its size; here every question weighs the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import open_answers
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile, published_tsv
from snellen.benchmarks.declaration.video_questions import add_group_mean
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.parsers import OFFICIAL, OWN, VLMEVALKIT, ParserSet
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, MediaError
from snellen.core.media import image_size
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.extract.open_text import parse_raw
from snellen.extract.points import Point, parse_point, read_point
from snellen.extract.published.screenspot import point_pro, point_seeclick, point_vlmevalkit
from snellen.prompts.choice import PromptTemplate

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


COORDINATES = "coordinates"
FRACTIONS, PIXELS, THOUSANDTHS = "fractions", "pixels", "thousandths"
MEAN = "mean_of_platforms_and_elements"
_CELL_COUNT = 6
_MAX_NEW_TOKENS = 256
_SCALES = {
    FRACTIONS: "x and y are fractions of the picture's width and height, between 0 and 1.",
    PIXELS: "x and y are pixels of the picture, from its left and upper edge.",
    THOUSANDTHS: "x and y run from 0 to 1000 over the picture's width and height.",
}

ReadPoint = Callable[[str], Point | None]


def _template(scale: str) -> PromptTemplate:
    return PromptTemplate(
        frame="This is a screenshot. Click on the element for the following instruction.\n"
        "{question}\n"
        f"Answer with the point alone, as pyautogui.click(x=?, y=?); {_SCALES[scale]}"
    )


def _to_fractions(point: Point, target: Target) -> Point:
    """A point with a coordinate above 1 is in pixels."""
    if max(point) <= 1:
        return point
    return Point(point.x / target.width, point.y / target.height)


def _grade(answer: str, sample: Sample) -> float:
    target = parse_target(sample.gold[0])
    return float(target.contains(_to_fractions(read_point(answer), target)))


def _grade_vlmevalkit(inset: float, answer: str, sample: Sample) -> float:
    target, point = parse_target(sample.gold[0]), point_vlmevalkit(answer)
    return float(point is not None and target.contains(_to_fractions(point, target), inset))


def _grade_official(read: ReadPoint, answer: str, sample: Sample) -> float:
    point = read(answer)
    return float(point is not None and parse_target(sample.gold[0]).contains(point))


def _parse_vlmevalkit(reply: str, stop_reason: str) -> Answer:
    """The whole reply; an empty one is a point, too: the upper left corner."""
    return ParsedAnswer(reply, "raw reply")


def _rules(version: str) -> dict[str, ParserSet]:
    pro = version == PRO
    scorings = {
        OWN: OpenScoring(parse_point, _grade),
        VLMEVALKIT: OpenScoring(_parse_vlmevalkit, partial(_grade_vlmevalkit, 0.0 if pro else 1.0)),
        OFFICIAL: OpenScoring(parse_raw, partial(_grade_official, point_pro if pro else point_seeclick)),
    }
    return {rule: ParserSet(open=scoring) for rule, scoring in scorings.items()}


def _for_variant(declaration: Declaration, variant: Variant) -> Declaration:
    """The rules of the version and the prompt of the scale. In thousandths the gold boxes are, too,
    unless a published rule reads the replies, which knows no such scale."""
    version = variant.options.get(VERSION, ONE)
    scale = variant.options.get(COORDINATES, FRACTIONS)
    thousandths = variant.rule in (None, OWN) and scale == THOUSANDTHS
    return replace(
        declaration,
        template=_template(scale) if scale in _SCALES else None,
        adjust_row=partial(to_common_layout, pro=version == PRO, thousandths=thousandths),
        scoring=open_answers("accuracy", _rules(version)),
    )


BENCHMARK = Declaration(
    name="screenspot",
    version="2",
    title="ScreenSpot, elements of user interfaces",
    paper="https://arxiv.org/abs/2401.10935",
    provenance="ScreenSpot (Apache-2.0), ScreenSpot-v2 and ScreenSpot-Pro (as their authors' pages "
    "say), as VLMEvalKit's TSV files and lmms-eval's data sets",
    data=Published({VERSION: (ONE, TWO, PRO), PART: PARTS}, published_files()),
    aliases=names_elsewhere(),
    other_tools={
        "screenspot": OtherToolName(
            "lmms-eval", "is two tasks: the box for an instruction, and the instruction for a box"
        )
    },
    options={COORDINATES: tuple(_SCALES)},
    adjust_row=to_common_layout,
    group_by=GROUPS,
    max_new_tokens=_MAX_NEW_TOKENS,
    for_variant=_for_variant,
    scoring=open_answers("accuracy", _rules(ONE)),
    headline=Headline(summarise=partial(add_group_mean, MEAN, PLATFORM_ELEMENT, labels=_CELL_COUNT)),
)

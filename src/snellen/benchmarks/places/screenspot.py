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

Oddities: the point is asked for, and read, in one coordinate space (`coordinates`), that of the model
where the catalogue knows it. VLMEvalKit (`--rule vlmevalkit`) takes numbers up to 1 for fractions and
larger ones for pixels; its box ends one pixel earlier in versions 1 and 2, and a reply without a point
means the upper left corner there. The authors' scripts (`--rule official`) take fractions alone, in
Qwen-VL's boxes thousandths. VLMEvalKit's Text_Accuracy and Icon_Accuracy over several groups weigh each group by the
square of its size; here every question weighs the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile, published_tsv
from snellen.benchmarks.declaration.scoring import place_questions
from snellen.benchmarks.declaration.video_questions import add_group_mean
from snellen.benchmarks.protocol.parsers import OFFICIAL, VLMEVALKIT
from snellen.core.benchmark import COORDINATES, Variant
from snellen.core.errors import DataError, MediaError
from snellen.core.media import upright_size
from snellen.core.place import Box, Places, load_places, parse_space
from snellen.core.sample import Row, Sample
from snellen.prompts.choice import PromptTemplate
from snellen.prompts.places import describe_space
from snellen.scoring.places.metrics import inside

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


def to_common_layout(row: Row, *, pro: bool = False) -> Row:
    """The row with its instruction as question, its box as gold and its groups.

    With `pro` boxes are two corners, as in ScreenSpot-Pro. Raises DataError for a row without a
    picture and its size, or with a box that is none.
    """
    cells = row.cells
    if "bbox" not in cells:
        return row
    changed = {"question": cells.get("question") or cells.get("instruction", ""), "answer": _target(row, pro).text()}
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


def _target(row: Row, pro: bool) -> Places:
    """The box of the element in pixels: from x, y, width and height, or two corners, or corners in fractions.
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
    return Places(boxes=(Box(*corners),), extent=(width, height))


def _size(row: Row) -> tuple[float, float]:
    """Width and height of the picture, as the row says or else as its header."""
    if "img_size" in row.cells:
        width, height = _numbers(row, "img_size", 2)
        return width, height
    if not row.media:
        raise DataError("neither a picture nor its size; expected a column image, or img_size with [width, height]")
    try:
        return upright_size(row.media[0].source.read())
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


def add_extent(sample: Sample, row: Row) -> Sample:
    """The sample with the size of its picture."""
    return structs.replace(sample, extent=load_places(sample.gold[0]).extent) if sample.gold else sample


MEAN = "mean_of_platforms_and_elements"
_CELL_COUNT = 6
_MAX_NEW_TOKENS = 256
_SCRIPTS = "extract.published.screenspot"


def grade_inset(answer: str, sample: Sample) -> float:
    """VLMEvalKit's grade in versions 1 and 2: the right and lower edge are a pixel less."""
    (box,) = load_places(sample.gold[0]).boxes
    inner = Places(boxes=(Box(box.left, box.top, box.right - 1, box.bottom - 1),))
    return inside(load_places(answer), inner)


def place_rules_of(version: str) -> PlaceRules:
    """How points are read and graded in a version."""
    pro = version == PRO
    return PlaceRules(
        shape="point",
        gold_shape="box",
        metric="inside",
        parse={
            VLMEVALKIT: f"{_SCRIPTS}.parse_vlmevalkit",
            OFFICIAL: f"{_SCRIPTS}.{'parse_pro' if pro else 'parse_seeclick'}",
        },
        grade={} if pro else {VLMEVALKIT: f"{__name__.removeprefix('snellen.')}.{grade_inset.__name__}"},
    )


def _template(coordinates: str) -> PromptTemplate:
    form = "[y, x]" if parse_space(coordinates).order == "yx" else "pyautogui.click(x=?, y=?)"
    return PromptTemplate(
        frame="This is a screenshot. Click on the element for the following instruction.\n"
        "{question}\n"
        f"Answer with the point alone, as {form}; {describe_space(coordinates)}."
    )


def _for_variant(declaration: Declaration, variant: Variant) -> Declaration:
    """The rules of the version and the prompt of the coordinate space."""
    version = variant.options.get(VERSION, ONE)
    rules = place_rules_of(version)
    coordinates = variant.options.get(COORDINATES, rules.coordinates)
    return replace(
        declaration,
        template=_template(coordinates) if coordinates in rules.options()[COORDINATES] else None,
        adjust_row=partial(to_common_layout, pro=version == PRO),
        scoring=place_questions(rules, "accuracy"),
    )


BENCHMARK = Declaration(
    name="screenspot",
    version="3",
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
    adjust_row=to_common_layout,
    adjust=add_extent,
    group_by=GROUPS,
    max_new_tokens=_MAX_NEW_TOKENS,
    for_variant=_for_variant,
    scoring=place_questions(place_rules_of(ONE), "accuracy"),
    headline=Headline(summarise=partial(add_group_mean, MEAN, PLATFORM_ELEMENT, labels=_CELL_COUNT)),
)

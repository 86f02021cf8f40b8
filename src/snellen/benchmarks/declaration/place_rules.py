"""Benchmarks that ask for places: what they declare, and how they are asked and scored.

    [place]
    shape = "box"                     # what a reply names: box, point, polygon, mask or span
    count = 1                         # how many; 0: any number
    metric = "iou@0.5"                # the headline (scoring.places.metrics, .run_metrics)
    beside = ["iou"]
    gold = "bbox"                     # the column of the gold places
    gold_space = "pixels-corner-size" # what its numbers are
    labelled = true                   # whether replies name a label with each
    extent = ["w", "h"]               # the columns of the picture's size, or of the duration
    nothing = { kind = "Rejection" }  # rows in which no place is right

The option `coordinates` says in which space a model is asked for boxes and points, and its replies
are read; for spans it is `time_unit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct

from snellen.benchmarks.protocol.parsers import OWN, ParserSet, Rule
from snellen.core.benchmark import COORDINATES, TIME_UNIT
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.place import PlaceShape, TimeUnit, all_spaces, parse_space
from snellen.data.columns import PLACE_COLUMNS
from snellen.data.tables.coco import CROWD_COLUMN

ReplyShape = Literal["box", "point", "polygon", "mask", "span"]
SIZE_COLUMNS = ("width", "height")
SIZE_LISTS = ("img_size", "image_size")
DURATION, FPS = "duration", "fps"
_METRICS: Mapping[ReplyShape, str] = {
    "box": "iou@0.5",
    "point": "inside",
    "polygon": "iou",
    "mask": "iou",
    "span": "iou",
}


class PlaceRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a benchmark declares of the places it asks for: the table `[place]` of its file."""

    shape: ReplyShape = "box"
    """What a reply names."""
    count: int = 1
    """How many places are asked for; 0: any number."""
    metric: str = ""
    """The headline: a name of `scoring.places.metrics`, whose mean it is, or of
    `scoring.places.run_metrics`. Empty: `iou@0.5` of boxes, `iou` of polygons, masks and spans, of points
    `inside`, or `closeness` where the gold is a point, too."""
    beside: tuple[str, ...] = ()
    """Further metrics, of the same names."""
    over: str = ""
    """Grouping over whose labels the metrics of the whole run are the mean; empty: of all pictures."""
    coordinates: str = "fractions"
    """The space of boxes and points in replies, unless the option says otherwise."""
    time_unit: TimeUnit = "seconds"
    """What the numbers of spans in replies are, unless the option says otherwise."""
    gold: str = ""
    """Column of the gold places; `medium`: the last picture of a row, which the model does not see. Empty: a
    column of `PLACE_COLUMNS`, else that of other gold answers."""
    gold_shape: PlaceShape | None = None
    """What the gold places are, where not what a reply names: points are asked for in a mask."""
    gold_space: str = "pixels"
    """What the numbers of the gold places are."""
    shape_column: str = ""
    """Column that says what the gold places of a row are; its cells are keys of `gold_shapes`."""
    gold_shapes: dict[str, PlaceShape] = {}
    nothing: dict[str, str] = {}
    """Columns and the cells by which a row says that nothing is there: no place is right then."""
    labelled: bool = False
    """Whether replies are to name a label with each place. Without it labels of the data do not
    count."""
    labels: str = "labels"
    """Column of the labels, a list or the text of one; where a row does not have it, they stand in the
    objects of the gold column (`place_golds`)."""
    extent: tuple[str, ...] = ()
    """Columns of the picture's width and height, or one with both in a list; of the duration in
    seconds where spans are asked for. Empty: `width` and `height`, `img_size`, `duration`, else the
    header of the row's first picture."""
    prompt: str = ""
    """Closing line of the prompt in place of Snellen's, which `{place}` in it stands for; a blank: none."""
    parse: dict[Rule, str] = {}
    """By rule of another tool, a `PlaceParser` of Snellen: `extract.published.x.parse_y`."""
    grade: dict[Rule, str] = {}
    """By rule of another tool, a `GradeFunction` of Snellen, in place of `metric`."""

    @property
    def headline(self) -> str:
        """Name of the metric that leads."""
        usual = "closeness" if self.shape == self.shape_of_gold == "point" else _METRICS.get(self.shape, "iou")
        return self.metric or usual

    @property
    def shape_of_gold(self) -> PlaceShape:
        return self.gold_shape or self.shape

    def options(self) -> Mapping[str, Sequence[str]]:
        """The option `coordinates`, or for spans `time_unit`, with the declared space first."""
        if self.shape == "span":
            return {TIME_UNIT: tuple(dict.fromkeys((self.time_unit, *get_args(TimeUnit))))}
        names = [space.name for space in all_spaces() if self.shape == "box" or space.form == "corners"]
        return {COORDINATES: tuple(dict.fromkeys((self.coordinates, *names)))}

    def columns(self) -> frozenset[str]:
        """The columns that may say something of a place."""
        usual = (DURATION, FPS) if self.shape == "span" else (*SIZE_COLUMNS, *SIZE_LISTS)
        gold = () if self.gold else PLACE_COLUMNS[self.shape_of_gold]
        labels = (self.labels, CROWD_COLUMN) if self.labelled else ()
        return frozenset(name.lower() for name in (*self.named_columns(), *(self.extent or usual), *gold, *labels))

    def named_columns(self) -> Sequence[str]:
        """The columns that the data must have."""
        gold = self.gold if self.gold != "medium" else ""
        return [name for name in (gold, self.shape_column, *self.nothing, *self.extent) if name]

    def check(self) -> None:
        """Raises DataError for what does not go together or is unknown."""
        from snellen.scoring.places.run_metrics import metric_of_one

        try:
            for name in (self.headline, *self.beside):
                metric_of_one(name)
            for space in (self.coordinates, self.gold_space):
                parse_space(space)
        except (UnknownName, UsageError) as error:
            raise DataError(f"[place]: {error}") from error
        if self.gold_space.startswith("sent-pixels"):
            raise DataError("[place]: gold_space is sent-pixels, but data know no model; expected pixels")
        if "inside" in (self.headline, *self.beside) and self.shape_of_gold in ("point", "span"):
            raise DataError("[place]: inside needs gold boxes, polygons or masks; expected gold_shape to name one")
        if self.count < 0:
            raise DataError(f"[place]: count is {self.count}; expected a number of places, or 0 for any")
        if self.nothing and self.count:
            raise DataError(f"[place]: nothing has rows without a place, and count asks for {self.count}; expected 0")
        if {*self.parse, *self.grade} & {OWN}:
            raise DataError("[place]: parse and grade are for the rules of other tools; leave out snellen")


def place_rules(rules: PlaceRules) -> dict[str, ParserSet]:
    """Snellen's rule and those of other tools, before a space is chosen (`place_scoring`)."""
    return {rule: ParserSet() for rule in dict.fromkeys((OWN, *rules.parse, *rules.grade))}

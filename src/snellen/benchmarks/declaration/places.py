"""Benchmarks that ask for places: what they declare, and how they are asked and scored.

    [place]
    shape = "box"                     # what a reply names: box, point or span
    count = 1                         # how many; 0: any number
    metric = "iou@0.5"                # the headline (scoring.places.metrics, .run_metrics)
    beside = ["iou"]
    gold = "bbox"                     # the column of the gold places
    gold_space = "pixels-corner-size" # what its numbers are
    labelled = true                   # whether replies name a label with each
    extent = ["w", "h"]               # the columns of the picture's size, or of the duration
    nothing = { kind = "Rejection" }  # rows in which no place is right

The option `coordinates` says in which space a model is asked for boxes and points, and its replies
are read; spans are in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Literal

from msgspec import Struct, structs

from snellen.benchmarks.declaration.declaration import Headline
from snellen.benchmarks.declaration.place_golds import mask_of_picture, read_places
from snellen.benchmarks.protocol.flows import GradeFunction, PlaceParser, PlaceScoring
from snellen.benchmarks.protocol.other_spaces import other_space_notice
from snellen.benchmarks.protocol.parsers import OWN, ParserSet, Rule
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.errors import DataError, MediaError, UnknownName, UsageError
from snellen.core.literals import parse_json_or_literal
from snellen.core.media import upright_size
from snellen.core.place import Places, PlaceShape, Space, all_spaces, parse_space, write_places
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary
from snellen.data.columns import gold_column
from snellen.extract.places.read import parse_places
from snellen.prompts.places import place_instruction
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.places.baselines import baseline_metrics, random_places
from snellen.scoring.places.metrics import grade_places, place_metric
from snellen.scoring.places.run_metrics import is_run_metric, metric_of_one, run_metrics, run_sums

COORDINATES = "coordinates"
ReplyShape = Literal["box", "point", "span"]
_SIZE_COLUMNS = ("width", "height")
_SIZE_LISTS = ("img_size", "image_size")
_DURATION = "duration"
_METRICS: Mapping[ReplyShape, str] = {"box": "iou@0.5", "point": "inside", "span": "iou"}
GOLD_COLUMNS_OF_SHAPE: Mapping[PlaceShape, tuple[str, ...]] = {
    "box": ("bbox", "bboxes", "boxes"),
    "point": ("point", "points"),
    "polygon": ("polygon", "segmentation"),
    "mask": ("mask",),
    "span": ("span", "spans"),
}
"""Columns of gold places where none is named; then those of other gold answers."""
_RANDOM_REPLIES = 16
"""Valid replies among which `random` draws."""


class PlaceRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a benchmark declares of the places it asks for: the table `[place]` of its file."""

    shape: ReplyShape = "box"
    """What a reply names."""
    count: int = 1
    """How many places are asked for; 0: any number."""
    metric: str = ""
    """The headline: a name of `scoring.places.metrics`, whose mean it is, or of
    `scoring.places.run_metrics`. Empty: `iou@0.5` of boxes, `iou` of spans, of points `inside`,
    or `closeness` where the gold is a point, too."""
    beside: tuple[str, ...] = ()
    """Further metrics, of the same names."""
    over: str = ""
    """Grouping over whose labels the metrics of the whole run are the mean; empty: of all pictures."""
    coordinates: str = "fractions"
    """The space of boxes and points in replies, unless the option says otherwise."""
    gold: str = ""
    """Column of the gold places; `medium`: the last picture of a row, which the model does not see. Empty: a
    column of `GOLD_COLUMNS_OF_SHAPE`, else that of other gold answers."""
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
    """Closing line of the prompt in place of Snellen's, which `{place}` in it stands for."""
    parse: dict[Rule, str] = {}
    """By rule of another tool, a `PlaceParser` of Snellen: `extract.published.x.parse_y`."""
    grade: dict[Rule, str] = {}
    """By rule of another tool, a `GradeFunction` of Snellen, in place of `metric`."""

    @property
    def headline(self) -> str:
        """Name of the metric that leads."""
        usual = "closeness" if self.shape == self.shape_of_gold == "point" else _METRICS[self.shape]
        return self.metric or usual

    @property
    def shape_of_gold(self) -> PlaceShape:
        return self.gold_shape or self.shape

    def options(self) -> Mapping[str, Sequence[str]]:
        """The option `coordinates`, the declared space first; none for spans."""
        if self.shape == "span":
            return {}
        names = [space.name for space in all_spaces() if self.shape == "box" or space.form == "corners"]
        return {COORDINATES: tuple(dict.fromkeys((self.coordinates, *names)))}

    def columns(self) -> frozenset[str]:
        """The columns that may say something of a place."""
        sizes = (*self.extent, *_SIZE_COLUMNS, *_SIZE_LISTS, _DURATION)
        usual = (name for names in GOLD_COLUMNS_OF_SHAPE.values() for name in names)
        return frozenset(
            name.lower() for name in (self.gold, self.labels, self.shape_column, *self.nothing, *sizes, *usual)
        )

    def check(self) -> None:
        """Raises DataError for what does not go together or is unknown."""
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
        if {*self.parse, *self.grade} & {OWN}:
            raise DataError("[place]: parse and grade are for the rules of other tools; leave out snellen")


def place_rules(rules: PlaceRules) -> dict[str, ParserSet]:
    """Snellen's rule and those of other tools, before a space is chosen (`place_scoring`)."""
    return {rule: ParserSet() for rule in dict.fromkeys((OWN, *rules.parse, *rules.grade))}


def place_scoring(rules: PlaceRules, rule: str, coordinates: str) -> PlaceScoring:
    """How replies are read in a space and graded, by a rule."""
    space = parse_space(coordinates) if coordinates else Space()
    parse: PlaceParser = partial(parse_places, shape=rules.shape, count=rules.count or None, space=space)
    grade = _grade(metric_of_one(rules.headline))
    if rule in rules.parse:
        parse = _function(rules.parse[rule])
    if rule in rules.grade:
        grade = _function(rules.grade[rule])
    beside = [name for name in rules.beside if not is_run_metric(name)]
    return PlaceScoring(
        parse, grade, {name: _grade(name) for name in beside}, replies=partial(_RandomReplies, rules, space)
    )


def _grade(name: str) -> GradeFunction:
    metric = place_metric(name)
    return lambda answer, sample: grade_places(metric, answer, sample.gold)


@dataclass(frozen=True, slots=True)
class _RandomReplies(Sequence[str]):
    """Valid replies at random places, written when they are looked at: most models do not. None where
    the size of the picture is unknown."""

    rules: PlaceRules
    space: Space
    sample: Sample

    def __len__(self) -> int:
        return _RANDOM_REPLIES if self.sample.extent else 0

    def __getitem__(self, index: Any) -> Any:
        count, extent = self.rules.count or 1, self.sample.extent
        drawn = random_places(self.rules.shape, count, extent, len(self), seed=self.sample.id)
        return [write_places(places, self.space) for places in drawn][index]


def closing_line(rules: PlaceRules, coordinates: str) -> str:
    """The line of the prompt that says what to name, and in which space."""
    line = place_instruction(rules.shape, rules.count or None, coordinates, labels=rules.labelled)
    return rules.prompt.replace("{place}", line) if rules.prompt else line


def summarise_places(
    rules: PlaceRules,
    failures: FailurePolicy,
    coordinates: str,
    plain: Callable[[Sequence[Record]], Summary],
    records: Sequence[Record],
) -> Summary:
    """The plain summary, with the metrics of the whole run and what the middle and the whole of each
    picture score, and a notice where the replies fit another space than `coordinates`. Nothing is added
    where the headline is withheld."""
    summary = plain(records)
    if summary.headline.value is None:
        return summary
    if coordinates:
        others = other_space_notice(records, coordinates, rules.shape, several=rules.count != 1)
        summary = structs.replace(summary, notices=(*summary.notices, *others))
    names = [name for name in rules.beside if is_run_metric(name)]
    metrics = {**summary.metrics, **run_metrics(names, failures, records, rules.over)}
    if rules.count == 1 and not is_run_metric(rules.headline):
        counted = [record for record in records if counted_score(record, failures) is not None]
        metrics |= baseline_metrics(place_metric(rules.headline), rules.shape, counted)
    return structs.replace(summary, metrics=metrics, beside=(*summary.beside, *names))


def place_headline(rules: PlaceRules) -> Headline:
    """The headline: the mean of the scores, or a metric of the whole run."""
    if not is_run_metric(rules.headline):
        return Headline()
    return Headline(
        name=rules.headline,
        summarise=partial(_lead_with_run_metric, rules),
        sums=lambda context, records: run_sums(rules.headline, context.failures, records, rules.over),
    )


def _lead_with_run_metric(rules: PlaceRules, context: SummaryContext, records: Sequence[Record]) -> Summary:
    name = rules.headline
    summary = context.plain(records)
    if summary.headline.value is None:
        headline = structs.replace(summary.headline, name=name)
        return structs.replace(summary, headline=headline, metrics={name: headline})
    headline = run_metrics([name], context.failures, records, rules.over)[name]
    beside = (context.plain_headline, *(other for other in summary.beside if other != name))
    return structs.replace(
        summary, headline=headline, metrics={name: headline, **summary.metrics}, bounds=None, beside=beside
    )


def add_gold(rules: PlaceRules, sample: Sample, row: Row) -> Sample:
    """The sample with its gold places in pixels or seconds, and the size of what they are in. Samples
    of other kinds stay as they are. Raises DataError."""
    if sample.kind != "place":
        return sample
    column = _gold_column(rules, row)
    media = sample.media
    mask = None
    if rules.gold == "medium":
        *rest, last = row.media or (None,)
        if last is None:
            raise DataError("the gold mask is the last picture of a row, and the row has none")
        media, mask = tuple(rest), mask_of_picture(last.source.read())
    sample = structs.replace(sample, media=media, extent=_extent(rules, row, media))
    if mask is not None:
        return structs.replace(sample, gold=(Places(masks=(mask,), extent=sample.extent).text(),))
    if any(row.cells.get(name.lower()) == cell for name, cell in rules.nothing.items()):
        return structs.replace(sample, gold=(Places(extent=sample.extent).text(),))
    if column is None:
        return structs.replace(sample, gold=())
    shape = rules.gold_shapes.get(row.cells.get(rules.shape_column.lower(), ""), rules.shape_of_gold)
    try:
        gold = read_places(row.cells[column], shape, parse_space(rules.gold_space), sample.extent, _labels(rules, row))
    except DataError as error:
        raise DataError(f"column {column}: {error}") from error
    if not rules.labelled:
        gold = structs.replace(gold, labels=())
    elif not gold.labels and len(gold):
        raise DataError(f"column {column}: its places have no labels; expected a column {rules.labels}")
    if not sample.extent and gold.masks:
        sample = structs.replace(sample, extent=(gold.masks[0].width, gold.masks[0].height))
    return structs.replace(sample, gold=(gold.text(),))


def _gold_column(rules: PlaceRules, row: Row) -> str | None:
    """The filled column of the gold places; None for a row without."""
    if rules.gold:
        name = rules.gold.lower()
        return name if name in row.cells else None
    usual = GOLD_COLUMNS_OF_SHAPE[rules.shape_of_gold]
    return next((name for name in usual if name in row.cells), None) or gold_column(row.cells)


def _labels(rules: PlaceRules, row: Row) -> tuple[str, ...]:
    cell = row.cells.get(rules.labels.lower(), "").strip()
    if not cell or not rules.labelled:
        return ()
    value = parse_json_or_literal(cell) if cell.startswith("[") else [cell]
    return tuple(str(label) for label in value)


def _extent(rules: PlaceRules, row: Row, media: Sequence[Any]) -> tuple[float, ...]:
    """Width and height in pixels, or the duration in seconds; empty if unknown."""
    if rules.shape == "span":
        names = rules.extent or (_DURATION,)
        return tuple(_size_cell(row, name) for name in names if name.lower() in row.cells)
    names = rules.extent or _SIZE_COLUMNS
    for name in names if len(names) == 1 else (*_SIZE_LISTS,) if not rules.extent else ():
        if name.lower() in row.cells:
            return _size_list(row, name.lower())
    if len(names) == 2 and all(name.lower() in row.cells for name in names):
        return tuple(_size_cell(row, name) for name in names)
    pictures = [ref for ref in media if ref.kind == "image"]
    if not pictures:
        return ()
    try:
        return tuple(map(float, upright_size(pictures[0].source.read())))
    except MediaError:
        return ()


def _size_cell(row: Row, name: str) -> float:
    cell = row.cells[name.lower()]
    try:
        size = float(cell)
    except ValueError:
        size = 0.0
    if not 0 < size < float("inf"):
        raise DataError(f"column {name}: {cell[:60]!r} is no size; expected a number above 0")
    return size


def _size_list(row: Row, name: str) -> tuple[float, ...]:
    try:
        width, height = map(float, parse_json_or_literal(row.cells[name]))
    except (ValueError, TypeError) as error:
        raise DataError(f"column {name}: {row.cells[name][:60]!r}; expected [width, height] in pixels") from error
    return width, height


def add_space(rules: PlaceRules, coordinates: str, samples: Callable[..., Any], rows: Any) -> Any:
    """The samples of rows, those that ask for places with the space and the form in which they do."""
    points = rules.shape == "point"
    for sample in samples(rows):
        yield structs.replace(sample, space=coordinates, asks_points=points) if sample.kind == "place" else sample


def _function(name: str) -> Any:
    """A function of Snellen by its module and name."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"snellen.{module}"), function)

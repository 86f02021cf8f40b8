"""Benchmarks that ask for places: how they are asked, read and scored (`place_rules` is what they declare)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Headline
from snellen.benchmarks.declaration.described import named_function
from snellen.benchmarks.declaration.place_golds import check_masks, count_places, mask_of_picture, read_places
from snellen.benchmarks.declaration.place_rules import DURATION, FPS, SIZE_COLUMNS, SIZE_LISTS, PlaceRules
from snellen.benchmarks.protocol.flows import GradeFunction, PlaceParser, PlaceScoring
from snellen.benchmarks.protocol.other_spaces import other_space_notice
from snellen.core.errors import DataError, MediaError
from snellen.core.literals import parse_json_or_literal
from snellen.core.media import upright_size
from snellen.core.place import Places, Space, TimeUnit, parse_space, write_places
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import FailurePolicy, Summary, SummaryContext
from snellen.data.columns import PLACE_COLUMNS, gold_column
from snellen.data.tables.coco import CROWD_COLUMN
from snellen.extract.places.read import parse_places
from snellen.prompts.places import place_instruction
from snellen.scoring.accuracy import counted_score
from snellen.scoring.places.baselines import baseline_metrics, random_places
from snellen.scoring.places.metrics import grade_places, place_metric
from snellen.scoring.places.run_metrics import (
    confidence_notice,
    is_average_precision,
    is_run_metric,
    metric_of_one,
    run_metrics,
    run_sums,
)

_RANDOM_REPLIES = 16
"""Valid replies among which `random` draws."""


def place_scoring(rules: PlaceRules, rule: str, coordinates: str) -> PlaceScoring:
    """How replies are read in a space and graded, by a rule."""
    spans = rules.shape == "span"
    space = parse_space(coordinates) if coordinates and not spans else Space()
    unit = cast(TimeUnit, coordinates or "seconds") if spans else "seconds"
    parse: PlaceParser = partial(
        parse_places, shape=rules.shape, count=rules.count or None, space=space, time_unit=unit
    )
    grade = _grade(metric_of_one(rules.headline))
    if rule in rules.parse:
        parse = named_function(rules.parse[rule])
    if rule in rules.grade:
        grade = named_function(rules.grade[rule])
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
        if self.rules.shape == "span":
            return [self.sample.written_gold(places.text()) for places in drawn][index]
        return [write_places(places, self.space) for places in drawn][index]


def closing_line(rules: PlaceRules, coordinates: str) -> str:
    """The line of the prompt that says what to name, and in which space."""
    line = place_instruction(rules.shape, rules.count or None, coordinates, labels=rules.labelled)
    return rules.prompt.replace("{place}", line).strip(" ") if rules.prompt else line


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
    if coordinates and rules.shape in ("box", "point"):
        others = other_space_notice(records, coordinates, rules.shape, several=rules.count != 1)
        summary = structs.replace(summary, notices=(*summary.notices, *others))
    names = [name for name in rules.beside if is_run_metric(name)]
    precisions = [name for name in (rules.headline, *names) if is_average_precision(name)]
    unsaid = confidence_notice(precisions, failures, records) if precisions else ()
    summary = structs.replace(summary, notices=(*summary.notices, *unsaid))
    metrics = {**summary.metrics, **run_metrics(names, failures, records, rules.over)}
    # The score of a table that asks for other things, too, has nothing to do with these baselines.
    asks_alone = all(record.kind == "place" for record in records)
    if rules.count == 1 and asks_alone and not is_run_metric(rules.headline):
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
    fps = _size_cell(row, FPS) if rules.shape == "span" and FPS in row.cells else 0.0
    sample = structs.replace(sample, media=media, extent=_extent(rules, row, media), fps=fps)
    if mask is not None:
        gold = Places(masks=(mask,), extent=sample.extent)
        check_masks(gold)
        return structs.replace(sample, gold=(gold.text(),))
    if any(row.cells.get(name.lower()) == cell for name, cell in rules.nothing.items()):
        return structs.replace(sample, gold=(Places(extent=sample.extent).text(),))
    if column is None:
        return structs.replace(sample, gold=())
    shape = rules.gold_shapes.get(row.cells.get(rules.shape_column.lower(), ""), rules.shape_of_gold)
    try:
        space = parse_space(rules.gold_space)
        labels = _labels(rules, row, count_places(row.cells[column], shape))
        gold = read_places(row.cells[column], shape, space, sample.extent, labels)
        if shape == "box" and CROWD_COLUMN in row.cells:
            crowd = read_places(row.cells[CROWD_COLUMN], shape, space, sample.extent)
            gold = structs.replace(gold, crowds=crowd.boxes, crowd_labels=crowd.labels)
    except DataError as error:
        raise DataError(f"column {column}: {error}") from error
    if not rules.labelled:
        gold = structs.replace(gold, labels=(), crowd_labels=())
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
    usual = PLACE_COLUMNS[rules.shape_of_gold]
    return next((name for name in usual if name in row.cells), None) or gold_column(row.cells)


def _labels(rules: PlaceRules, row: Row, places: int | None) -> tuple[str, ...]:
    """The labels of a row's places; one that is no list is that of all of them."""
    cell = row.cells.get(rules.labels.lower(), "").strip()
    if not cell or not rules.labelled:
        return ()
    if not cell.startswith("["):
        return (cell,) * (1 if places is None else places)
    try:
        return tuple(str(label) for label in parse_json_or_literal(cell))
    except ValueError as error:
        raise DataError(
            f'{cell[:60]!r} in {rules.labels} is no list of labels; expected one such as ["cat"]'
        ) from error


def _extent(rules: PlaceRules, row: Row, media: Sequence[Any]) -> tuple[float, ...]:
    """Width and height in pixels, or the duration in seconds; empty if unknown."""
    if rules.shape == "span":
        names = rules.extent or (DURATION,)
        return tuple(_size_cell(row, name) for name in names if name.lower() in row.cells)
    names = rules.extent or SIZE_COLUMNS
    lists = SIZE_LISTS if not rules.extent else names if len(names) == 1 else ()
    for name in lists:
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
    """The samples of rows, those that ask for places with the space and the form in which they do. Frames
    of each second that no column says are those of the video's header."""
    points = rules.shape == "point"
    for sample in samples(rows):
        if sample.kind != "place":
            yield sample
            continue
        fps = sample.fps
        if coordinates == "frames" and not fps:
            from snellen.data.media.frames import video_fps

            fps = video_fps(sample.media)
        yield structs.replace(sample, space=coordinates, asks_points=points, fps=fps)

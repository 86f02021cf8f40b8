"""Whether the places of a run would fit the gold far better in another coordinate space than the one in
which they were read. Nothing is scored so: a notice of the summary says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import fmean
from typing import Literal, NamedTuple

from snellen.core.errors import DataError
from snellen.core.output import Generated, Misplaced, ParsedAnswer
from snellen.core.place import Places, PlaceShape, Space, all_spaces, load_places, parse_space
from snellen.core.record import PLACES_LOOKED_AT, Record
from snellen.extract.places.find import find_places
from snellen.scoring.places.metrics import place_metric

_LEAST_REPLIES = 5
_MASKS_LOOKED_AT = 10
"""Masks take long to unpack."""
_MOST_PLACES = 500
"""A reply that repeats a box without end says nothing of a space, and takes long to compare in all of them."""
_LEAST_GAIN = 0.2
_MEASURES = {"iou": "mean IoU", "inside": "share of points inside", "closeness": "mean closeness of points"}


class _ReplyNumbers(NamedTuple):
    """The numbers of a reply in the declared space, the places they were read as, and the gold."""

    numbers: list[tuple[float, ...]]
    read: Places
    gold: Places
    extent: tuple[float, ...]
    sent: tuple[float, ...]


def other_space_notice(
    records: Sequence[Record], coordinates: str, shape: PlaceShape, *, several: bool
) -> Iterator[str]:
    """A sentence that names the space in which the replies would fit, if another one closes at least half
    of the distance to a perfect fit. `shape` is what is asked for, `several` whether more than one."""
    declared = parse_space(coordinates)
    replies = list(_replies(records, declared, 2 if shape == "point" else 4, several))
    if any(reply.gold.masks for reply in replies):
        replies = replies[:_MASKS_LOOKED_AT]
    if len(replies) < _LEAST_REPLIES:
        return
    boxes = all(len(numbers) == 4 for reply in replies for numbers in reply.numbers)
    name = "iou" if boxes else "closeness" if replies[0].gold.points else "inside"
    metric = place_metric(name)
    now = fmean(metric(reply.read, reply.gold) for reply in replies)
    best, other = now, declared
    for space in all_spaces():
        if space.form != declared.form or space == declared:
            continue
        fit = fmean(metric(_read(reply, space), reply.gold) for reply in replies)
        if fit > best:
            best, other = fit, space
    if best - now >= _LEAST_GAIN and 1 - best <= (1 - now) / 2:
        yield (
            f"{_MEASURES[name]} is {now:.2f} over {len(replies)} replies; read as {other.name} it would be "
            f"{best:.2f}: say coordinates={other.name} if the model writes so"
        )


def _replies(records: Sequence[Record], declared: Space, size: Literal[2, 4], several: bool) -> Iterator[_ReplyNumbers]:
    asked = (record for record in records if record.kind == "place" and record.passes)
    for record in islice(asked, PLACES_LOOKED_AT):
        if not record.gold:
            continue
        output, answer = record.passes[0].output, record.passes[0].answer
        gold = load_places(record.gold[0])
        # Those of few-shot examples stand before the question's own.
        sizes = output.image_sizes[-len(record.media) :] if isinstance(output, Generated) else ()
        sent = sizes[0] if sizes else gold.extent
        if len(gold.extent) != 2 or not len(gold):
            continue
        try:
            if isinstance(answer, ParsedAnswer):
                read = load_places(answer.value)
                numbers = [declared.write_box(box, gold.extent, sent) for box in read.boxes]
                numbers += [declared.write_point(point, gold.extent, sent) for point in read.points]
            elif isinstance(answer, Misplaced):
                read = Places()
                found = find_places(answer.value, size, several=several)
                numbers = [one.numbers for one in found if len(one.numbers) in (2, 4)]
            else:
                continue
        except DataError:
            continue
        if 0 < len(numbers) <= _MOST_PLACES:
            yield _ReplyNumbers(numbers, read, gold, gold.extent, sent)


def _read(reply: _ReplyNumbers, space: Space) -> Places:
    boxes = tuple(space.read_box(one, reply.extent, reply.sent) for one in reply.numbers if len(one) == 4)
    points = tuple(space.read_point(one, reply.extent, reply.sent) for one in reply.numbers if len(one) == 2)
    return Places(boxes=boxes, points=points, extent=reply.extent)

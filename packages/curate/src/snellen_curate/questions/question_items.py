"""From drafts to items: which are kept, in what order their options stand, and the cells of their
rows. By seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from string import ascii_uppercase
from typing import NamedTuple

from snellen.benchmarks.abilities.seedbench.levels import dimension_by_name
from snellen.core.sample import Sample, sampling_key
from snellen.data_sets.items import Item
from snellen_curate.attribution import PICTURE_COLUMNS
from snellen_curate.metadata.draw import place_options
from snellen_curate.questions.records import Draft, PictureRecords
from snellen_curate.questions.rules import DISTRACTORS
from snellen_curate.questions.sources import Picture, PictureSource

PICTURE_COLUMN = "picture"
"""Column: the id of the picture that an item shows."""
TYPE_COLUMN = "question_type_id"
_INHERITED = ("source", "split", "start", "end")


class Candidate(NamedTuple):
    """As much of a question as the choice needs."""

    id: str
    dimension: str
    picture: str


class BalancedQuestions(NamedTuple):
    kept: frozenset[str]
    left_out: dict[str, str]
    """Why each other one was left out, by id."""


def balance(
    candidates: Iterable[Candidate],
    *,
    per_dimension: int = 0,
    per_picture: int = 0,
    seed: int = 0,
) -> BalancedQuestions:
    """At most so many questions of a dimension, and of a picture; 0 is no limit.

    Questions are drawn in an order by seed, one of each dimension in turn, so that a picture's few
    places do not all go to the dimension that is asked about most. A larger limit only adds.
    """
    by_dimension: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_dimension[candidate.dimension].append(candidate)
    queues = {
        name: sorted(those, key=lambda one: sampling_key(seed, one.id), reverse=True)
        for name, those in sorted(by_dimension.items())
    }
    taken: Counter[str] = Counter()
    pictures: Counter[str] = Counter()
    kept: set[str] = set()
    left_out: dict[str, str] = {}
    while any(queues.values()):
        for name, queue in queues.items():
            while queue:
                candidate = queue.pop()
                if per_dimension and taken[name] >= per_dimension:
                    left_out[candidate.id] = f"{per_dimension} questions of {name} are enough"
                elif per_picture and pictures[candidate.picture] >= per_picture:
                    left_out[candidate.id] = f"{per_picture} questions about the picture are enough"
                else:
                    taken[name] += 1
                    pictures[candidate.picture] += 1
                    kept.add(candidate.id)
                    break
    return BalancedQuestions(frozenset(kept), left_out)


def answer_positions(ids: Iterable[str], seed: int) -> dict[str, int]:
    """The place of each question's answer, from 0, by id: each equally often, up to one; which
    question has which place is by seed."""
    size = DISTRACTORS + 1
    order = sorted(ids, key=lambda one: sampling_key(f"{seed}:positions", one))
    places = sorted(range(size), key=lambda place: sampling_key(f"{seed}:places", str(place)))
    return {one: places[number % size] for number, one in enumerate(order)}


def build_items(
    pictures: PictureSource, records: PictureRecords, kept: frozenset[str], seed: int
) -> Iterator[Item]:
    """The kept questions as items, in the order of the pictures."""
    places = answer_positions(kept, seed)
    for picture in pictures:
        record = records.get(picture.id)
        for draft in record.drafts if record is not None else ():
            if draft.id in kept:
                yield _item(draft, picture, places[draft.id], seed)


def _item(draft: Draft, picture: Picture, place: int, seed: int) -> Item:
    """A draft's item, with what the manifest says of its picture."""
    written = draft.written
    distractors = [text.strip() for text in written.distractors]
    options = place_options(written.answer.strip(), distractors, place, draft.id, seed)
    dimension = dimension_by_name(draft.dimension)
    groups = {"category": draft.dimension}
    cells = {PICTURE_COLUMN: picture.id}
    if dimension is not None:
        groups["l2-category"] = dimension.subpart
        cells[TYPE_COLUMN] = str(dimension.number)
    for name in (*_INHERITED, *PICTURE_COLUMNS):
        if picture.cells.get(name):
            cells[name] = picture.cells[name]
    gold, media = (ascii_uppercase[place],), (picture.medium,)
    question = written.question.strip()
    return Item(Sample(draft.id, "choice", question, gold, options, media, groups=groups), cells)

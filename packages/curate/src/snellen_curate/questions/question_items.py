"""From drafts to items: which are kept, in what order their options stand, and the cells of their
rows. By seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from snellen.benchmarks.abilities.seedbench.levels import dimension_by_name
from snellen.core.sample import MediaRef, Sample, sampling_key
from snellen.data.tables.seed_json import IMAGE_OPTIONS
from snellen.data_sets.items import Item
from snellen_curate.attribution import IMAGE_COLUMNS, join_images
from snellen_curate.metadata.draw import place_options
from snellen_curate.questions.records import Draft, ImageRecords
from snellen_curate.questions.rules import DISTRACTORS
from snellen_curate.questions.several_images import in_context_drafts
from snellen_curate.questions.sources import ImageSource, SourceMedium

IMAGE_COLUMN = "picture"
"""Column: the ids of the images that an item shows, with commas between them."""
TYPE_COLUMN = "question_type_id"
_INHERITED = ("source", "split", "start", "end")


class Candidate(NamedTuple):
    """As much of a question as the choice needs."""

    id: str
    dimension: str
    image: str


class BalancedQuestions(NamedTuple):
    kept: frozenset[str]
    left_out: dict[str, str]
    """Why each other one was left out, by id."""


def balance(
    candidates: Iterable[Candidate], *, per_dimension: int = 0, per_picture: int = 0, seed: int = 0
) -> BalancedQuestions:
    """At most so many questions of a dimension, and of an image; 0 is no limit.

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
    images: Counter[str] = Counter()
    kept: set[str] = set()
    left_out: dict[str, str] = {}
    while any(queues.values()):
        for name, queue in queues.items():
            while queue:
                candidate = queue.pop()
                if per_dimension and taken[name] >= per_dimension:
                    left_out[candidate.id] = f"{per_dimension} questions of {name} are enough"
                elif per_picture and images[candidate.image] >= per_picture:
                    left_out[candidate.id] = f"{per_picture} questions about the picture are enough"
                else:
                    taken[name] += 1
                    images[candidate.image] += 1
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


def all_drafts(records: ImageRecords, seed: int) -> Iterator[Draft]:
    """Every question that passed, those made of other questions last."""
    for record in records.records():
        yield from record.drafts
    yield from in_context_drafts(records, seed)


def build_items(images: ImageSource, records: ImageRecords, kept: frozenset[str], seed: int) -> Iterator[Item]:
    """The kept questions as items, in the order in which the last image that each shows was
    read."""
    places = answer_positions(kept, seed)
    waiting: dict[str, list[Draft]] = {}
    unseen: dict[str, int] = {}
    for draft in all_drafts(records, seed):
        if draft.id in kept:
            unseen[draft.id] = len(draft.images)
            for name in draft.images:
                waiting.setdefault(name, []).append(draft)
    seen: dict[str, SourceMedium] = {}
    for image in images:
        drafts = waiting.get(image.id, ())
        if drafts:
            seen[image.id] = image
        for draft in drafts:
            unseen[draft.id] -= 1
            if not unseen[draft.id]:
                displayed = [seen[name] for name in draft.images]
                yield _item(draft, displayed, places[draft.id], seed)


def _item(draft: Draft, displayed: list[SourceMedium], place: int, seed: int) -> Item:
    """A draft's item; licences and sources of several images stand side by side."""
    written = draft.written
    distractors = [text.strip() for text in written.distractors]
    options = place_options(written.answer.strip(), distractors, place, draft.id, seed)
    dimension = dimension_by_name(draft.dimension)
    groups = {"category": draft.dimension}
    cells = {IMAGE_COLUMN: ", ".join(draft.images)}
    if dimension is not None:
        groups["l2-category"] = dimension.subpart
        cells[TYPE_COLUMN] = str(dimension.number)
    for name in _INHERITED:
        values = dict.fromkeys(one.cells[name] for one in displayed if one.cells.get(name))
        if values:
            cells[name] = ", ".join(values)
    for name in IMAGE_COLUMNS:
        if any(one.cells.get(name) for one in displayed):
            cells[name] = join_images([one.cells.get(name, "") for one in displayed])
    gold, media = (ascii_uppercase[place],), tuple(one.medium for one in displayed)
    question = written.question.strip()
    return Item(Sample(draft.id, "choice", question, gold, options, media, groups=groups), cells)


def image_options_item(
    name: str,
    dimension: str,
    question: str,
    before: Sequence[MediaRef],
    images: Sequence[MediaRef],
    place: int,
    cells: Mapping[str, str],
    seed: int,
) -> Item:
    """An item whose options are images, in the columns of SEED-Bench's part 3: the images of
    the question first, then those of its options in the order of the labels. The first of
    `images` is the answer, and stands at `place`.

    The texts of the options say nothing ("picture 1"): the images are the options.
    """
    by_digest = {ref.digest: ref for ref in images}
    first, *others = by_digest
    ordered = place_options(first, others, place, name, seed)
    options = {label: f"picture {number}" for number, label in enumerate(ordered, 1)}
    known = dimension_by_name(dimension)
    assert known is not None
    sample = Sample(
        name,
        "choice",
        question,
        (ascii_uppercase[place],),
        options,
        (*before, *(by_digest[digest] for digest in ordered.values())),
        groups={"category": dimension, "l2-category": known.subpart},
    )
    columns = {TYPE_COLUMN: str(known.number), IMAGE_OPTIONS: str(len(images))}
    return Item(sample, {**cells, **columns})

"""Items whose options are pictures, in the columns of SEED-Bench's part 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.benchmarks.abilities.seedbench.levels import dimension_by_name
from snellen.core.sample import MediaRef, Sample
from snellen.curate.items import Item
from snellen.curate.questions.assembling import TYPE_COLUMN
from snellen.curate.questions.balance import LABELS, place_options
from snellen.data.tables.seed_json import IMAGE_OPTIONS


def image_options_item(
    name: str,
    dimension: str,
    question: str,
    before: Sequence[MediaRef],
    pictures: Sequence[MediaRef],
    place: int,
    cells: Mapping[str, str],
    seed: int,
) -> Item:
    """An item with the pictures of the question first, then those of its options in the order of
    the labels. The first of `pictures` is the answer, and stands at `place`.

    The texts of the options say nothing ("picture 1"): the pictures are the options.
    """
    by_digest = {ref.digest: ref for ref in pictures}
    first, *others = by_digest
    ordered = place_options(first, others, place, name, seed)
    options = {label: f"picture {number}" for number, label in enumerate(ordered, 1)}
    known = dimension_by_name(dimension)
    assert known is not None
    sample = Sample(
        name,
        "choice",
        question,
        (LABELS[place],),
        options,
        (*before, *(by_digest[digest] for digest in ordered.values())),
        groups={"category": dimension, "l2-category": known.subpart},
    )
    columns = {TYPE_COLUMN: str(known.number), IMAGE_OPTIONS: str(len(pictures))}
    return Item(sample, {**cells, **columns})

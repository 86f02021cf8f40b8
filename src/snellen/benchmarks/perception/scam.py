"""SCAM: typographic attacks, an object or the word written on it (Westerhoff et al. 2025,
https://arxiv.org/abs/2504.04893).

Rows have the name of an object and the word on it, which become the two options.
"""

from __future__ import annotations

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.scoring import choices
from snellen.core.sample import Row, sampling_key
from snellen.data.columns import row_id


def _offer_object_and_word(row: Row) -> Row:
    """Options A and B of the object's name, which is right, and the word on it.

    Half of the rows, by a hash of their ids, have the word first: VLMEvalKit draws the order at
    random. Rows that have options keep them.
    """
    cells = row.cells
    if "object_label" not in cells or "attack_word" not in cells:
        return row
    texts = (cells["object_label"], cells["attack_word"])
    word_first = sampling_key("SCAM", row_id(row))[0] % 2 == 1
    offered = dict(zip("AB", reversed(texts) if word_first else texts, strict=True))
    named = {"category": cells["type"]} if "type" in cells else {}
    others = {name: text for name, text in cells.items() if name != "type"}
    return structs.replace(row, cells={**others, **offered, **named, "answer": "B" if word_first else "A"})


BENCHMARK = Declaration(
    name="scam",
    version="10",
    title="SCAM, typographic attacks: an object, or the word written on it",
    paper="https://arxiv.org/abs/2504.04893",
    provenance="BLISS-e-V/SCAM on the hub; the order of the two options follows from the row's id",
    data=Published({}, {(): HubSplit("hf://BLISS-e-V/SCAM?split=train")}),
    aliases={"SCAM": {}},
    group_by=("category",),
    kind="choice",
    adjust_row=_offer_object_and_word,
    question="What entity is depicted in the image?",
    scoring=choices(),
)

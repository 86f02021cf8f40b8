"""What would give the answer of a held-out question away beside the question itself.

A hint, an id, a source or the text chunks of a picture file are published with the question. Where
one of them states the answer, the question cannot be held out.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping

from snellen.core.sample import Sample

_SHORTEST = 3
"""Characters of the shortest answer that is searched for in names: `no` stands in any text."""
_STATED = r"(?:answer|key|solution|correct(?: option| choice)?)\s*(?:is|=|:|：)\s*\(?"


def find_giveaways(
    sample: Sample, cells: Mapping[str, str], pictures: Mapping[str, Iterable[str]]
) -> list[str]:
    """Clauses on where the answer is stated; empty if nowhere.

    `cells` are the other columns that would be published, `pictures` the texts in the files of its
    images (`picture_texts`) by their digest.
    """
    texts = {"the question": sample.question, "the hint": sample.hint}
    places = [where for where, text in texts.items() if _states_answer(text, sample)]
    names = {"the id": sample.id, **{f"the column {name}": text for name, text in cells.items()}}
    answers = [text for text in _answer_texts(sample) if len(text) >= _SHORTEST]
    places += [where for where, text in names.items() if _contains_any(text, answers)]
    for digest, hidden_texts in pictures.items():
        if any(_contains_any(text, answers) for text in hidden_texts):
            places.append(f"the metadata of picture {digest[:12]}")
    return places


def _answer_texts(sample: Sample) -> Iterator[str]:
    """The answer as text: of a multiple-choice question, the text of the right option."""
    for gold in sample.gold:
        for label in re.split(r"\s*,\s*", gold):
            yield sample.options.get(label, label).strip()


def _states_answer(text: str, sample: Sample) -> bool:
    """Whether a text says "the answer is B", by label or by text."""
    forms = {*sample.gold, *_answer_texts(sample)}
    return any(
        re.search(_STATED + re.escape(form) + r"(?!\w)", text, re.IGNORECASE)
        for form in forms
        if form
    )


def _contains_any(text: str, answers: list[str]) -> bool:
    """Whether one of the answers stands in a name as a word; `_`, `-` and `/` end words."""
    words = re.sub(r"[\W_]+", " ", text).lower()
    return any(
        re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", words)
        for answer in answers
        if (plain := re.sub(r"[\W_]+", " ", answer).lower().strip())
    )


def picture_texts(data: bytes) -> Iterator[str]:
    """Texts in an image file that no viewer shows: PNG text chunks, comments, EXIF and XMP."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            entries = [*image.info.values(), *image.getexif().values()]
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return
    for value in entries:
        if isinstance(value, bytes):
            yield value.decode("utf-8", "ignore")
        elif isinstance(value, str):
            yield value

"""Questions that show several images: stories of an album, and In-Context Captioning
(SEED-Bench-H, Sec. 3.2.2.1 and 3.3.2).

A story shows 2 to 4 images of one album. For a caption after two examples, a language model
restates each kept question about an attribute or a count as a caption, and says which property it
is about; three images whose captions are about the same one make a question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from snellen.core.record import Steps
from snellen.core.request import Generation
from snellen.core.sample import sampling_key
from snellen_curate.asking import ask_json
from snellen_curate.questions.extraction import VisualFacts, describe
from snellen_curate.questions.records import Draft, ImageRecords, RestatedCaption, plain_extraction
from snellen_curate.questions.rules import DISTRACTORS, WrittenQuestion
from snellen_curate.questions.sources import SourceMedium
from snellen_curate.questions.writing import number_lines, prompt_messages, prompt_texts

_MIN_IMAGES, _MAX_IMAGES = 2, 4
DIMENSION = "In-Context Captioning"
SOURCES = ("Instance Attribute", "Instance Counting")
"""Dimensions whose questions are restated."""
EXAMPLES = 2
_PREFIX = "in-context:"
_SETTINGS = Generation(max_new_tokens=512)


class Album(NamedTuple):
    """Images of one story, in order, and what is to be seen in all of them."""

    id: str
    images: tuple[SourceMedium, ...]
    facts: VisualFacts


def find_albums(images: Iterable[SourceMedium], records: ImageRecords, seed: int) -> Iterator[Album]:
    """Albums by the cell `album` (of a folder: its sub-folders), 2 to 4 images of each by seed,
    in their order. Images that were dropped are left out."""
    by_album: dict[str, list[SourceMedium]] = defaultdict(list)
    for image in images:
        if image.cells.get("album") and image.kind == "image" and image.id in records:
            by_album[image.cells["album"]].append(image)
    for name, members in by_album.items():
        usable = [one for one in members if records[one.id].captions]
        if len(usable) < _MIN_IMAGES:
            continue
        key = sampling_key(f"{seed}:albums", name)
        count = min(len(usable), _MIN_IMAGES + key[0] % (_MAX_IMAGES - _MIN_IMAGES + 1))
        drawn = sorted(usable, key=lambda one: sampling_key(f"{seed}:{name}", one.id))[:count]
        chosen = tuple(one for one in usable if one in drawn)
        # What is to be seen in each image, as one caption each.
        seen = (describe(plain_extraction(records[one.id])).replace("\n", " ") for one in chosen)
        captions = tuple(f"Picture {number}: {text}" for number, text in enumerate(seen, 1))
        yield Album(f"album:{name}", chosen, VisualFacts(captions=captions))


def record_id(draft: Draft) -> str:
    """Id of the record of a restated question."""
    return f"{_PREFIX}{draft.id}"


def restate(role: str, draft: Draft, item: str) -> Steps[RestatedCaption]:
    """A question and its options as captions. Raises NotJson and AskFailed."""
    classes = prompt_texts().prompts["aspects"]["classes"]
    written = draft.written
    messages = prompt_messages(
        "aspects",
        question=written.question,
        answer=written.answer,
        distractors=number_lines(written.distractors),
        classes=classes,
    )

    def problem(value: RestatedCaption) -> str:
        if value.aspect not in classes.split(", "):
            return f"aspect is {value.aspect!r}; expected one of {classes}"
        if not value.statement.strip() or len(value.wrong) != DISTRACTORS:
            return f"expected a statement and {DISTRACTORS} wrong ones"
        return ""

    return (yield from ask_json(role, messages, RestatedCaption, item, settings=_SETTINGS, check=problem))


def question_of(restated: RestatedCaption, examples: Iterable[str] = ()) -> WrittenQuestion:
    """The question: captions of the examples behind their images, the third one's left out."""
    shown = "".join(f"<image>: {example.strip()} " for example in examples)
    return WrittenQuestion(f"{shown}<image>:", restated.statement, list(restated.wrong))


def in_context_drafts(records: ImageRecords, seed: int) -> Iterator[Draft]:
    """A question for each restated caption that two other pictures' captions are like, by seed."""
    by_aspect: dict[str, list[tuple[str, str, RestatedCaption]]] = defaultdict(list)
    evidence = {}
    for record in records.records():
        if record.restated is not None:
            name = record.image.removeprefix(_PREFIX)
            by_aspect[record.restated.aspect].append((name, record.shown, record.restated))
            evidence[name] = record.evidence
    for aspect, captions in sorted(by_aspect.items()):
        for name, image, restated in captions:
            order = sorted(captions, key=lambda one: sampling_key(f"{seed}:{name}", one[0]))
            others: dict[str, tuple[str, str]] = {}
            for other, its_image, its_caption in order:
                if its_image != image and its_caption.statement != restated.statement:
                    others.setdefault(its_image, (other, its_caption.statement))
            examples = list(others.items())[:EXAMPLES]
            if aspect == "other" or len(examples) < EXAMPLES:
                continue
            yield Draft(
                f"in-context/{name}",
                DIMENSION,
                (*(example for example, _ in examples), image),
                question_of(restated, (statement for _, (_, statement) in examples)),
                tuple(one for key in (name, *(key for _, (key, _) in examples)) for one in evidence[key]),
            )

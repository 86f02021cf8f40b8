"""How MMT-Bench's questions are shown: its prompt studies as parameters (Sec. 4.3, Appendix E).

* `images=native|single|stitch|first`: the images apart, the authors' combined picture, our own
  stitching of the images, or the first image alone;
* `prompt=paper`: Tables A6 to A9, which close with the options; `placing=text` puts each image
  where the question speaks of it (the paper's multi-image models), `placing=start` all of them at
  the beginning of the question (its single-image models); other prompts show images before the
  text, as the authors' own code does;
* `referring=box|pixel|normalised|both`: regions drawn or written, for data whose column `boxes`
  holds them apart from clean pictures (a JSON list of [x1, y1, x2, y2] in pixels of the first
  image); the published pictures have them drawn in;
* `coords=published|pixel|normalised`: coordinates of the 19 detection subtasks rewritten, in
  question and options alike.

Single-image models get all images at the beginning of the question, as the published file words it; multi-image models
get each image where the question speaks of it ("the query: <image>in the candidates: Candidate 1: <image>, ..."). The
tables, kept word for word in `mmt_interleaved.csv`, word 9 of the 28 subtasks alike for both.
"""

from __future__ import annotations

import csv
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple, cast

from msgspec.structs import replace

from snellen.benchmarks.abilities.mmt_bench.tasks import STUDIES, Subtask, find_subtask
from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.benchmarks.protocol.ask_config import prompt_options
from snellen.core.errors import DataError, MediaError, UsageError
from snellen.core.model import Capabilities
from snellen.core.place import Box
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.prompts.coordinates import Coordinates, ImageSize, has_other_format, rewrite_coordinates, size_in_question
from snellen.prompts.derived_images import load_image
from snellen.prompts.referring import Referring, apply_referring
from snellen.prompts.stitch import default_names, keep_first_image, stitch_images

IMAGES = ("native", "single", "stitch", "first")
PLACINGS = ("text", "start")
REFERRING = ("box", "pixel", "normalised", "both")
COORDS = ("published", "pixel", "normalised")
TASKS = ("all", *STUDIES)
PAPER = "paper"
BOXES = "boxes"
"""Column with the regions of a question."""
_OWN, *_OTHERS = prompt_options()["prompt"]
OPTIONS: Mapping[str, Sequence[str]] = {
    "prompt": (_OWN, PAPER, *_OTHERS),
    "images": IMAGES,
    "placing": PLACINGS,
    "referring": REFERRING,
    "coords": COORDS,
    "tasks": TASKS,
}


class MMTPromptVariant(NamedTuple):
    """The chosen prompt variant."""

    prompt: str
    images: str
    placing: str
    referring: str
    coords: str
    tasks: str


def variant_samples(rows: Iterable[Row], prompt_variant: MMTPromptVariant) -> Iterator[Sample]:
    """Samples of the chosen subtasks, with their regions, and with coordinates rewritten.

    Raises DataError as `rows_to_samples` does, for malformed boxes, for written regions if the data
    have none, and for coordinates in an image of unknown size.
    """
    path = str(getattr(rows, "path", "mmt-bench"))

    def with_regions(sample: Sample, row: Row) -> Sample:
        return replace(sample, regions=_regions(row)) if BOXES in row.cells else sample

    for sample in rows_to_samples(rows, path=path, adjust=with_regions):
        task = _subtask_of(sample)
        if prompt_variant.tasks != "all" and (task is None or prompt_variant.tasks not in task.studies):
            continue
        if prompt_variant.referring != "box" and not sample.regions and _in_study(task, "referring"):
            raise DataError(
                f"{path}: the question {sample.id} has no {BOXES}; "
                f"referring={prompt_variant.referring} writes them into the text, and the "
                "published pictures have them drawn in: give data with clean pictures and a column "
                f"{BOXES!r} with --data, which `snellen data referring` makes"
            )
        if prompt_variant.coords != "published" and _in_study(task, "detection"):
            sample = _with_coordinates(sample, cast(Coordinates, prompt_variant.coords), path)
        yield sample


def prepare_sample(sample: Sample, prompt_variant: MMTPromptVariant) -> Sample:
    """The sample as it is asked: regions drawn or written, images stitched."""
    sample = apply_referring(sample, cast(Referring, prompt_variant.referring))
    if prompt_variant.images == "stitch":
        sample = stitch_images(sample, _image_names(sample))
    elif prompt_variant.images == "first":
        sample = keep_first_image(sample)
    if prompt_variant.prompt != PAPER:
        return sample
    if prompt_variant.placing == "start":
        return put_images_first(sample)
    task = _subtask_of(sample)
    return interleave_images(sample, task.name if task else "")


def single_image_reason(sample: Sample, capabilities: Capabilities) -> str | None:
    """Why a model of one image cannot take a question of several as they are."""
    if len(sample.media) < 2 or capabilities.many_images:
        return None
    return "needs several images in one prompt: take mmt-bench:images=single, stitch or first"


def check_variant(prompt_variant: MMTPromptVariant, shots: str) -> None:
    """Raises UsageError for choices that exclude each other."""
    if prompt_variant.prompt != PAPER and prompt_variant.placing != PLACINGS[0]:
        raise UsageError(f"mmt-bench:placing={prompt_variant.placing} is for prompt=paper")
    plain = MMTPromptVariant(
        prompt_variant.prompt, prompt_variant.images, PLACINGS[0], REFERRING[0], COORDS[0], prompt_variant.tasks
    )
    is_as_published = (
        prompt_variant == plain and prompt_variant.images in ("native", "single") and prompt_variant.prompt != PAPER
    )
    if shots != "0" and not is_as_published:
        raise UsageError(
            "mmt-bench:shots shows examples as the data hold them: take images=native or single, "
            "coords=published, referring=box and a prompt other than paper"
        )


def prompt_notices(records: Sequence[Record], prompt_variant: MMTPromptVariant) -> Iterator[str]:
    """What a reader must know of how questions of several images were shown."""
    if prompt_variant.images == "first":
        yield (
            "images=first: questions of several images were asked with the first alone, which "
            "is no support of several images"
        )
    if prompt_variant.prompt == PAPER and prompt_variant.placing == "text" and prompt_variant.images == "native":
        several = [record for record in records if len(record.media) > 1]
        among = sum(not record.question.startswith("<image") for record in several)
        yield (
            f"{among} of {len(several)} questions of several images have them where the text "
            "speaks of them, the others at the beginning"
        )


def _subtask_of(sample: Sample) -> Subtask | None:
    return find_subtask(sample.groups.get("category", ""))


def _in_study(task: Subtask | None, study: str) -> bool:
    return task is not None and study in task.studies


def _image_names(sample: Sample) -> tuple[str, ...]:
    """What stands above the stitched images: the names by which the question calls them."""
    count = len(sample.media)
    task = _subtask_of(sample)
    if task is None or not task.image_names:
        return default_names(count)
    fixed = sum("{" not in name for name in task.image_names)
    names: list[str] = []
    for name in task.image_names:
        repeated = "{" in name
        for index in range(count - fixed if repeated else 1):
            names.append(name.replace("{0}", str(index)).replace("{1}", str(index + 1)))
    return tuple(names) if len(names) == count else default_names(count)


def _with_coordinates(sample: Sample, to: Coordinates, path: str) -> Sample:
    if not has_other_format(sample.question, sample.options, to):
        return sample
    size = size_in_question(sample.question) or _image_size(sample, path)
    changed = rewrite_coordinates(sample.question, sample.options, to, size)
    return replace(sample, question=changed.question, options=changed.options)


def _image_size(sample: Sample, path: str) -> ImageSize:
    if not sample.media:
        raise DataError(
            f"{path}: the question {sample.id} states no image size and has no image; "
            "coords needs one of them: take coords=published"
        )
    try:
        return ImageSize(*load_image(sample.media[0]).size)
    except MediaError as error:
        raise DataError(
            f"{path}: the question {sample.id} states no image size and its image cannot be "
            f"read ({error}); take coords=published or correct the image"
        ) from error


def _regions(row: Row) -> tuple[Box, ...]:
    cell = row.cells[BOXES]
    try:
        boxes = json.loads(cell)
        if boxes and not isinstance(boxes[0], list):
            boxes = [boxes]
        return tuple(Box(*(float(number) for number in box)) for box in boxes)
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{BOXES} is {cell[:60]!r}; expected a JSON list of boxes [x1, y1, x2, y2] in pixels"
        ) from error


_IMAGE = "<image>"
_FIELDS = {r"\{words\}": r"(?P<words>.+?)", r"\{number\}": r"\d+"}


class Rewording(NamedTuple):
    images_first: re.Pattern[str]
    interleaved: str


def put_images_first(sample: Sample) -> Sample:
    """All images at the beginning of the question, after the word "Question:"."""
    if not sample.media or "<image" in sample.question:
        return sample
    images = "".join(f"<image {number}>" for number in range(1, len(sample.media) + 1))
    return replace(sample, question=images + sample.question)


def interleave_images(sample: Sample, subtask: str) -> Sample:
    """Put each image where the question mentions it; at the beginning if the paper does, or if
    the question is not worded as in the paper."""
    rewording = _rewordings().get(subtask)
    match = rewording.images_first.search(sample.question) if rewording else None
    if rewording is None or match is None or len(sample.media) < 2:
        return put_images_first(sample)
    rewritten = _fill_template(rewording.interleaved, len(sample.media), match.groupdict().get("words", ""))
    if rewritten.count(_IMAGE) != len(sample.media):
        return put_images_first(sample)
    question = sample.question[: match.start()] + rewritten + sample.question[match.end() :]
    numbers = iter(range(1, len(sample.media) + 1))
    numbered = re.sub(_IMAGE, lambda _: f"<image {next(numbers)}>", question)
    return replace(sample, question=numbered)


def _fill_template(template: str, images: int, text: str) -> str:
    remaining = max(0, images - template.count(_IMAGE))
    lists = {
        "{candidates}": ", ".join(f"Candidate {index}: {_IMAGE}" for index in range(1, remaining + 1)),
        "{indexed}": ", ".join(f"Image {index}: {_IMAGE}" for index in range(remaining)),
        "{images}": _IMAGE * remaining,
    }
    for field, listed in lists.items():
        template = template.replace(field, listed)
    return template.replace("{words}", text)


@functools.cache
def _rewordings() -> Mapping[str, Rewording]:
    table = files("snellen.benchmarks") / "data" / "mmt_interleaved.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return {row["subtask"]: Rewording(_compile_words(row["images_first"]), row["interleaved"]) for row in rows}


def _compile_words(text: str) -> re.Pattern[str]:
    """The paper's words, whatever the line breaks between them."""
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    for field, group in _FIELDS.items():
        pattern = pattern.replace(field, group)
    return re.compile(pattern, re.DOTALL)

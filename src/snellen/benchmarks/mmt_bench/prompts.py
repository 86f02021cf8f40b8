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
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from snellen.benchmarks.declaration.rows import samples
from snellen.benchmarks.mmt_bench.interleaving import images_at_the_start, interleaved
from snellen.benchmarks.mmt_bench.tasks import STUDIES, Subtask, subtask_named
from snellen.benchmarks.protocol.ask_config import asking_options
from snellen.core.errors import DataError, MediaError, UsageError
from snellen.core.model import Capabilities
from snellen.core.record import Record
from snellen.core.sample import Region, Row, Sample
from snellen.prompts.coordinates import Coordinates, Size, format_of, rewrite, stated_size
from snellen.prompts.derived_images import decoded
from snellen.prompts.referring import Referring, refer
from snellen.prompts.stitch import default_names, first_alone, stitched

IMAGES = ("native", "single", "stitch", "first")
PLACINGS = ("text", "start")
REFERRING = ("box", "pixel", "normalised", "both")
COORDS = ("published", "pixel", "normalised")
TASKS = ("all", *STUDIES)
PAPER = "paper"
BOXES = "boxes"
"""Column with the regions of a question."""
_OWN, *_OTHERS = asking_options()["prompt"]
OPTIONS: Mapping[str, Sequence[str]] = {
    "prompt": (_OWN, PAPER, *_OTHERS),
    "images": IMAGES,
    "placing": PLACINGS,
    "referring": REFERRING,
    "coords": COORDS,
    "tasks": TASKS,
}


class Shown(NamedTuple):
    """The chosen prompt variant."""

    prompt: str
    images: str
    placing: str
    referring: str
    coords: str
    tasks: str


def shown_samples(rows: Iterable[Row], shown: Shown) -> Iterator[Sample]:
    """Samples of the chosen subtasks, with their regions, and with coordinates rewritten.

    Raises DataError as `samples` does, for boxes that cannot be read, for written regions where
    the data hold none, and for coordinates of an image of unknown size.
    """
    path = str(getattr(rows, "path", "mmt-bench"))

    def with_regions(sample: Sample, row: Row) -> Sample:
        return replace(sample, regions=_regions(row, path)) if BOXES in row.cells else sample

    for sample in samples(rows, path=path, shape=with_regions):
        task = _task(sample)
        if shown.tasks != "all" and (task is None or shown.tasks not in task.studies):
            continue
        if shown.referring != "box" and not sample.regions and _in_study(task, "referring"):
            raise DataError(
                f"{path}: the question {sample.id} has no {BOXES}; referring={shown.referring} "
                "writes them into the text, and the published pictures have them drawn in: give "
                f"data with clean pictures and a column {BOXES!r} with --data"
            )
        if shown.coords != "published" and _in_study(task, "detection"):
            sample = _with_coordinates(sample, cast(Coordinates, shown.coords), path)
        yield sample


def prepared(sample: Sample, shown: Shown) -> Sample:
    """The sample as it is asked: regions drawn or written, images stitched."""
    sample = refer(sample, cast(Referring, shown.referring))
    if shown.images == "stitch":
        sample = stitched(sample, _names(sample))
    elif shown.images == "first":
        sample = first_alone(sample)
    if shown.prompt != PAPER:
        return sample
    if shown.placing == "start":
        return images_at_the_start(sample)
    task = _task(sample)
    return interleaved(sample, task.name if task else "")


def beyond_one_image(sample: Sample, capabilities: Capabilities) -> str | None:
    """Why a model of one image cannot take a question of several as they are."""
    if len(sample.media) < 2 or capabilities.many_images:
        return None
    return "needs several images in one prompt: take images=single or images=stitch"


def check(shown: Shown, shots: str) -> None:
    """Raises UsageError for choices that exclude each other."""
    if shown.prompt != PAPER and shown.placing != PLACINGS[0]:
        raise UsageError(f"mmt-bench:placing={shown.placing} is for prompt=paper")
    plain = Shown(shown.prompt, shown.images, PLACINGS[0], REFERRING[0], COORDS[0], shown.tasks)
    as_held = shown == plain and shown.images in ("native", "single") and shown.prompt != PAPER
    if shots != "0" and not as_held:
        raise UsageError(
            "mmt-bench:shots shows examples as the data hold them: take images=native or single, "
            "coords=published, referring=box and a prompt other than paper"
        )


def remarks(records: Sequence[Record], shown: Shown) -> Iterator[str]:
    """What a reader must know of how questions of several images were shown."""
    if shown.images == "first":
        yield (
            "images=first: questions of several images were asked with the first alone, which "
            "is no support of several images"
        )
    if shown.prompt == PAPER and shown.placing == "text" and shown.images == "native":
        several = [record for record in records if len(record.media) > 1]
        among = sum(not record.question.startswith("<image") for record in several)
        yield (
            f"{among} of {len(several)} questions of several images have them where the text "
            "speaks of them, the others at the beginning"
        )


def _task(sample: Sample) -> Subtask | None:
    return subtask_named(sample.groups.get("category", ""))


def _in_study(task: Subtask | None, study: str) -> bool:
    return task is not None and study in task.studies


def _names(sample: Sample) -> tuple[str, ...]:
    """What stands above the stitched images: the names by which the question calls them."""
    count = len(sample.media)
    task = _task(sample)
    if task is None or not task.picture_names:
        return default_names(count)
    fixed = sum("{" not in name for name in task.picture_names)
    names: list[str] = []
    for name in task.picture_names:
        repeated = "{" in name
        for at in range(count - fixed if repeated else 1):
            names.append(name.replace("{0}", str(at)).replace("{1}", str(at + 1)))
    return tuple(names) if len(names) == count else default_names(count)


def _with_coordinates(sample: Sample, to: Coordinates, path: str) -> Sample:
    if format_of(sample.question, sample.options) in (None, to):
        return sample
    size = stated_size(sample.question) or _picture_size(sample, path)
    changed = rewrite(sample.question, sample.options, to, size)
    return replace(sample, question=changed.question, options=changed.options)


def _picture_size(sample: Sample, path: str) -> Size:
    if not sample.media:
        raise DataError(
            f"{path}: the question {sample.id} states no image size and has no image; "
            "coords needs one of them: take coords=published"
        )
    try:
        return Size(*decoded(sample.media[0]).size)
    except MediaError as error:
        raise DataError(
            f"{path}: the question {sample.id} states no image size and its image cannot be "
            f"read ({error}); take coords=published or correct the image"
        ) from error


def _regions(row: Row, path: str) -> tuple[Region, ...]:
    cell = row.cells[BOXES]
    try:
        boxes = json.loads(cell)
        if boxes and not isinstance(boxes[0], list):
            boxes = [boxes]
        return tuple(Region(*(float(number) for number in box)) for box in boxes)
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path}, row {row.number + 1}: {BOXES} is {cell[:60]!r}; expected a JSON list of "
            "boxes [x1, y1, x2, y2] in pixels"
        ) from error

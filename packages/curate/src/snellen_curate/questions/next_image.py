"""Next Image Prediction (SEED-Bench-H, Sec. 3.3.3): the first frames of a video are shown, its last
frame is the answer, last frames of other videos are the other options. No model is asked.

The paper takes the start and end frames of its action-prediction videos and does not say where the
other options come from. Here they are drawn by seed, of videos in the same folder first: these are
most alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import FileSource, decode_image
from snellen.core.sample import MediaRef, sampling_key
from snellen.data_sets.decisions import Decision, Exclusion
from snellen.data_sets.items import Item
from snellen.data_sets.step import MediaWriter, open_step
from snellen.settings import max_image_pixels
from snellen_curate.questions import rules
from snellen_curate.questions.fact_extraction import sample_video, video_length
from snellen_curate.questions.question_items import answer_positions, image_options_item
from snellen_curate.questions.results import QuestionsResult, decide_once, finish_questions
from snellen_curate.questions.sources import ImageSource, SourceMedium

STEP = "next images"
DIMENSION = "Next Image Prediction"
QUESTION = "What will happen next?"
_SHOWN_FRAMES = (0.0, 0.25, 0.5)
"""Parts of the video's length at which frames are shown."""
_LAST_FRAME = 0.05
"""Seconds before the end at which the last frame is taken."""
_EDGE = 32
_MIN_DIFFERENCE = 2.0
"""Mean difference of grey values, 0 to 255, of two frames that show something else."""
MAX_SECONDS = 120.0
"""Longer videos are left out."""


class _VideoEnds(NamedTuple):
    """The first frames of a video, and its last one."""

    before: tuple[MediaRef, ...]
    last: MediaRef


def make_next_image_questions(
    images: ImageSource,
    out: Path | str,
    *,
    max_seconds: float = MAX_SECONDS,
    require_license: bool = False,
    seed: int = 0,
) -> QuestionsResult:
    """Make a data set folder of next-image questions of the videos; images are passed over.

    Raises UsageError if there are no videos, and StorageError.
    """
    settings = {"max_seconds": max_seconds, "require_license": require_license, "seed": seed}
    videos = [one for one in images if one.kind == "video"]
    if not videos:
        raise UsageError(f"{images.path} holds no videos; --dimension next-image makes questions of them")
    with open_step(out, STEP, settings, images.describe()) as step:
        ends: dict[str, _VideoEnds] = {}
        for video in videos:
            found = _find_ends(video, step.folder, max_seconds, require_license)
            if isinstance(found, _VideoEnds):
                ends[video.id] = found
            else:
                decide_once(step, Decision(video.id, "drop", STEP, *found))
        chosen = _choose_others(videos, ends, seed)
        for name in ends:
            if name not in chosen:
                reason = f"expected {rules.DISTRACTORS} other videos"
                decide_once(step, Decision(name, "drop", STEP, rules.TOO_FEW_OTHERS, reason))
        items = step.write_items(_items(videos, ends, chosen, seed)) if chosen else 0
        for name, others in chosen.items():
            reason = f"last frames of {', '.join(others)} are the other options"
            decide_once(step, Decision(name, "add", STEP, rules.WRITTEN, reason))
        kept = {DIMENSION: items} if items else {}
        return finish_questions(step, len(videos), kept, sources="video")


def _find_ends(video: SourceMedium, folder: Path, max_seconds: float, require_license: bool) -> _VideoEnds | Exclusion:
    """The frames of a video, or why no question is made of it."""
    if require_license and not video.cells.get("license"):
        return Exclusion(rules.NO_LICENSE, "the manifest names no licence for it")
    try:
        seconds, _ = video_length(video.medium)
        if seconds > max_seconds:
            return Exclusion(rules.TOO_LONG, f"{seconds:.1f} s, more than {max_seconds:g} s")
        found = _read_ends(video, seconds, folder)
        if not _differ(found.before[0], found.last):
            return Exclusion(rules.NOTHING_CHANGES, "its last frame shows what its first does")
        return found
    except MediaError as error:
        return Exclusion(rules.UNREADABLE, str(error))


def _read_ends(video: SourceMedium, seconds: float, folder: Path) -> _VideoEnds:
    """The frames, kept in the data set folder. Raises MediaError."""
    moments = [*(share * seconds for share in _SHOWN_FRAMES), max(0.0, seconds - _LAST_FRAME)]
    media = MediaWriter(folder)
    kept = [
        MediaRef(ref.digest, FileSource(str(folder / media.copy(ref)))) for ref in sample_video(video.medium, moments)
    ]
    return _VideoEnds(tuple(kept[:-1]), kept[-1])


def _differ(first: MediaRef, second: MediaRef) -> bool:
    """Whether two frames show something else: by their small grey copies."""
    import numpy

    small = [
        numpy.asarray(
            decode_image(ref.source.read(), max_image_pixels()).convert("L").resize((_EDGE, _EDGE)), dtype=float
        )
        for ref in (first, second)
    ]
    return bool(numpy.abs(small[0] - small[1]).mean() >= _MIN_DIFFERENCE)


def _choose_others(videos: Sequence[SourceMedium], ends: Mapping[str, _VideoEnds], seed: int) -> dict[str, list[str]]:
    """Three other videos for each whose last frames differ from its own and from each other's,
    those of its folder or album first. Videos that have too few are absent."""
    usable = [video for video in videos if video.id in ends]
    chosen: dict[str, list[str]] = {}
    for video in usable:
        others = sorted(
            (one for one in usable if one is not video),
            key=lambda one: (
                one.cells.get("album") != video.cells.get("album"),
                sampling_key(f"{seed}:{video.id}", one.id),
            ),
        )
        taken: list[str] = []
        frames = [ends[video.id].last]
        for other in others:
            frame = ends[other.id].last
            if all(_differ(frame, one) for one in frames):
                taken.append(other.id)
                frames.append(frame)
            if len(taken) == rules.DISTRACTORS:
                chosen[video.id] = taken
                break
    return chosen


def _items(
    videos: Sequence[SourceMedium], ends: Mapping[str, _VideoEnds], chosen: Mapping[str, Sequence[str]], seed: int
) -> Iterator[Item]:
    """The items in the order of the videos, answers at each place equally often."""
    places = answer_positions(chosen, seed)
    for video in videos:
        if video.id not in chosen:
            continue
        images = [ends[name].last for name in (video.id, *chosen[video.id])]
        yield image_options_item(
            video.id, DIMENSION, QUESTION, ends[video.id].before, images, places[video.id], video.cells, seed
        )

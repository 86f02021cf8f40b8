"""How the videos of a benchmark are shown: as frames, or whole to models that take videos.

* `video=frames|native`; `native` hands the file over as it is;
* `frames=8`: how many frames; `fps=1`: frames of each second, and `frames` is then the most there
  may be; `sampling=centre|lmms-eval|vlmevalkit`: the rule (see `data.sampling`);
* `edge=768`: frames are made smaller to this longest side; `off` keeps their size;
* `times=on`: each frame stands after its time;
* `subtitles=off|frames|all`: those that are shown at the times of the frames, or all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from msgspec import structs

from snellen.benchmarks.declaration.questions import one_of
from snellen.core.benchmark import Benchmark, Needs, Variant, needs
from snellen.core.errors import MediaError, UsageError
from snellen.core.model import Capabilities
from snellen.core.sample import MediaRef, Sample
from snellen.data.media.frame_sampling import RULES, Rule, Sampling
from snellen.data.media.frames import Frame, frames_of
from snellen.data.media.subtitles import read_subtitles, said_at
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.prompts.choice import Wording
from snellen.prompts.derived_images import unmade
from snellen.settings import Settings

MOST_FRAMES = 2048
WORDING = Wording(hint="{hint}")
"""Texts about a video stand before the question as they are."""
SUBTITLES = "This video's subtitles are listed below:"
"""Before subtitles: the line that Video-MME's authors ask for."""
_CHOICES: Mapping[str, Sequence[str]] = {
    "video": ("frames", "native"),
    "sampling": RULES,
    "times": ("off", "on"),
    "subtitles": ("off", "frames", "all"),
}
_NUMBERS = {"frames": "8", "fps": "off", "edge": "off"}
_PLACE = re.compile(r"<video ?\d*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What a model is shown of a video."""

    native: bool
    sampling: Sampling
    times: bool
    subtitles: str
    parameters: Mapping[str, str]
    """What a run records of it."""
    cache: Path


def video_options(defaults: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """The options there are, the default first; numbers stand for any number."""
    first = {**{name: values[0] for name, values in _CHOICES.items()}, **_NUMBERS}
    first |= defaults or {}
    several = {**_CHOICES, "frames": ("8", "16", "32", "64"), "fps": ("off", "1", "0.5")}
    several["edge"] = ("off", "768", "448")
    names = ("video", "frames", "fps", "sampling", "edge", "times", "subtitles")
    return {
        name: (first[name], *(value for value in several[name] if value != first[name]))
        for name in names
    }


def watching_of(
    variant: Variant, defaults: Mapping[str, str] | None = None, *, shots: bool = False
) -> tuple[Variant, Watching]:
    """The variant without the options about videos, and what these say. `shots` tells whether
    examples may be shown, which are never videos. Raises UsageError."""
    known = {name: values[0] for name, values in video_options(defaults).items()}
    chosen = {name: variant.options.get(name, value) for name, value in known.items()}
    for name, values in _CHOICES.items():
        one_of(name, chosen[name], values)
    count = _number("frames", chosen["frames"], MOST_FRAMES)
    fps = None if chosen["fps"] == "off" else _number("fps", chosen["fps"], 1000)
    edge = None if chosen["edge"] == "off" else _number("edge", chosen["edge"], 1 << 16)
    if count != int(count) or (edge is not None and edge != int(edge)):
        raise UsageError("frames and edge are whole numbers")
    sampling = Sampling(
        count=int(count),
        fps=fps,
        rule=cast(Rule, chosen["sampling"]),
        edge=None if edge is None else int(edge),
    )
    rest = {name: value for name, value in variant.options.items() if name not in known}
    if not shots and rest.get("shots", "0") != "0":
        raise UsageError("shots are not shown before questions about videos")
    native = chosen["video"] == "native"
    told = ("video", "subtitles") if native else tuple(known)
    watching = Watching(
        native=native,
        sampling=sampling,
        times=chosen["times"] == "on",
        subtitles=chosen["subtitles"],
        parameters={
            name: chosen[name]
            for name in told
            if name in ("video", "frames", "sampling") or chosen[name] != "off"
        },
        cache=Settings.from_environment().cache,
    )
    return replace(variant, options=rest), watching


def with_video(
    benchmark: Benchmark,
    watching: Watching,
    defaults: Mapping[str, str] | None = None,
    *,
    always: bool = True,
) -> Benchmark:
    """The benchmark whose videos are shown so, right before a question is asked. `always` says
    that every question has one, so that a model that cannot be shown videos is told at once."""
    own, beyond = benchmark.prepare, benchmark.beyond

    def prepare(sample: Sample) -> Sample:
        return watched(own(sample) if own else sample, watching)

    return replace(
        benchmark,
        prepare=prepare,
        beyond=_beyond(watching, beyond),
        needs=_needs(watching) if always else benchmark.needs,
        options={**benchmark.options, **video_options(defaults)},
        parameters={**benchmark.parameters, **watching.parameters},
    )


def _needs(watching: Watching) -> Needs:
    if watching.native:
        return needs("text", "video")
    return needs("text", "image", many_images=watching.sampling.count > 1)


def watched(sample: Sample, watching: Watching) -> Sample:
    """The sample with frames in place of its videos, and with their subtitles and times. A video
    that cannot be read leaves a medium whose reading fails, so that the sample does, typed."""
    if not any(ref.kind == "video" for ref in sample.media):
        return sample
    try:
        return _shown(sample, watching)
    except MediaError as error:
        return structs.replace(sample, media=(unmade(sample.media, str(error)),))


def _shown(sample: Sample, watching: Watching) -> Sample:
    media: list[MediaRef] = []
    lines: list[str] = []
    places: list[str] = []
    for ref in sample.media:
        if ref.kind != "video":
            media.append(ref)
            continue
        frames = _frames(ref, watching)
        first = len(media) + 1
        media += [frame.ref for frame in frames]
        names = [f"<image {number}>" for number in range(first, len(media) + 1)]
        places.append("".join(names))
        lines += _timed(frames, names) if watching.times else []
        lines += _subtitles(ref, frames, watching)
    timed = watching.times and any("<image" in line for line in lines)
    question = _placed(sample.question, places, timed=timed)
    hint = "\n".join(part for part in ("\n".join(lines), sample.hint) if part)
    return structs.replace(sample, media=tuple(media), question=question, hint=hint)


def _frames(ref: MediaRef, watching: Watching) -> list[Frame]:
    if watching.native:
        return [Frame(ref, None)]
    return frames_of(ref, watching.sampling, watching.cache)


def _timed(frames: Sequence[Frame], names: Iterable[str]) -> list[str]:
    return [
        f"{frame.time:.1f} s: {name}"
        for frame, name in zip(frames, names, strict=True)
        if frame.time is not None
    ]


def _subtitles(ref: MediaRef, frames: Sequence[Frame], watching: Watching) -> list[str]:
    source = ref.source
    path = source.subtitles if isinstance(source, VideoFile | FrameFolder) else None
    if watching.subtitles == "off" or path is None:
        return []
    cues = read_subtitles(path)
    if watching.subtitles == "frames" and not watching.native:
        cues = said_at(cues, [frame.time for frame in frames if frame.time is not None])
    return [SUBTITLES, *(cue.text for cue in cues)] if cues else []


def _placed(question: str, places: Sequence[str], *, timed: bool) -> str:
    """Videos stand where the question names them (`<video>`), unless their times stand before."""
    given = iter(places)
    return _PLACE.sub(lambda _: "" if timed else next(given, ""), question).strip()


def _beyond(
    watching: Watching, own: Callable[[Sample, Capabilities], str | None] | None
) -> Callable[[Sample, Capabilities], str | None]:
    def reason(sample: Sample, capabilities: Capabilities) -> str | None:
        videos = [ref for ref in sample.media if ref.kind == "video"]
        if not videos:
            return own(sample, capabilities) if own else None
        if watching.native:
            return _beyond_native(videos, capabilities)
        if "image" not in capabilities.inputs:
            return "the model takes no image input, as which the frames of a video are shown"
        if watching.sampling.count > 1 and not capabilities.many_images:
            return "the model takes one image only, and a video is several frames (frames=1)"
        return own(structs.replace(sample, media=()), capabilities) if own else None

    return reason


def _beyond_native(videos: Sequence[MediaRef], capabilities: Capabilities) -> str | None:
    if "video" not in capabilities.inputs:
        return "the model takes no video input; show it frames (video=frames)"
    sources = [ref.source for ref in videos]
    if any(isinstance(source, FrameFolder) for source in sources):
        return "the video is a folder of frames; show them (video=frames)"
    if any(isinstance(one, VideoFile) and (one.start or one.end) for one in sources):
        return "the question is about a part of the video; show its frames (video=frames)"
    return None


def _number(name: str, text: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= most:
        raise UsageError(f"{name}={text}: expected a number above 0, at most {most:g}")
    return number

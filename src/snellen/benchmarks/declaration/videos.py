"""How the videos of a benchmark are shown: as frames, or to models that take videos as such.

* `video=frames|clip|native`: each frame as an image, the same frames as one video with their times,
  or the file as it is;
* `frames=8`: how many frames; `fps=1`: frames of each second, and `frames` is then the most there
  may be; `sampling=centre|lmms-eval|vlmevalkit`: the rule (see `data.sampling`);
* `edge=768`: frames are made smaller to this longest side; `off` keeps their size;
* `times=on`: each frame stands after its time;
* `subtitles=off|frames|all`: those that are shown at the times of the frames, or all;
* `subtitle_times=on`: each subtitle stands after its own start and end, as in `[3.5, 5.25] text`.
  Only benchmarks whose defaults name it, and files of the user, have this option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import cast

from msgspec import structs

from snellen.benchmarks.protocol.ask_config import check_allowed
from snellen.core.benchmark import Benchmark, DataTable, Requirement, Variant, requires
from snellen.core.errors import MediaError, UsageError
from snellen.core.model import Capabilities
from snellen.core.sample import MediaRef, Sample
from snellen.data.media.frame_sampling import FRAME_RULES, FrameRule, FrameSampling
from snellen.data.media.frames import Frame, clip_medium, extract_frames
from snellen.data.media.subtitles import Cue, cues_at, read_subtitles
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.data.tables.open_table import IndexedTable, open_table
from snellen.prompts.choice import PromptTemplate
from snellen.prompts.derived_images import unavailable_image
from snellen.settings import Settings

MAX_FRAMES = 2048
VIDEO_TEMPLATE = PromptTemplate(hint="{hint}")
"""Texts about a video stand before the question as they are."""
SUBTITLES = "This video's subtitles are listed below:"
"""Before subtitles: the line that Video-MME's authors ask for."""
SUBTITLE_TIMES = "subtitle_times"
_CHOICES: Mapping[str, Sequence[str]] = {
    "video": ("frames", "clip", "native"),
    "sampling": FRAME_RULES,
    "times": ("off", "on"),
    "subtitles": ("off", "frames", "all"),
    SUBTITLE_TIMES: ("off", "on"),
}
_NUMBERS = {"frames": "8", "fps": "off", "edge": "off"}
_NO_CLIPS = "the model takes no frames as one video (local models that do need torchvision for them)"
_VIDEO_TAG = re.compile(r"<video ?\d*>")
_PICTURE_TAG = re.compile("<image>")


VIDEO_NAMES = ("videoid", "video_id", "video_name", "videopath")
"""Columns that name a video in the published files, where none is called `video`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOptions:
    """How a video is shown to the model."""

    form: str
    """`frames`, `clip` or `native`."""
    sampling: FrameSampling
    show_times: bool
    subtitles: str
    show_subtitle_times: bool
    parameters: Mapping[str, str]
    """What a run records of it."""
    cache: Path

    @property
    def native(self) -> bool:
        """Whether the file is handed over as it is."""
        return self.form == "native"


def video_options(defaults: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """The options about videos, the default first; listed numbers stand for any number."""
    first = {**{name: values[0] for name, values in _CHOICES.items()}, **_NUMBERS}
    first |= defaults or {}
    choices = {**_CHOICES, "frames": ("8", "16", "32", "64"), "fps": ("off", "1", "0.5")}
    choices["edge"] = ("off", "768", "448")
    names = ["video", "frames", "fps", "sampling", "edge", "times", "subtitles"]
    names += [SUBTITLE_TIMES] if defaults is not None and SUBTITLE_TIMES in defaults else []
    return {name: (first[name], *(value for value in choices[name] if value != first[name])) for name in names}


def split_video_options(
    variant: Variant, defaults: Mapping[str, str] | None = None, *, allow_shots: bool = False
) -> tuple[Variant, VideoOptions]:
    """Split off the options about videos. `allow_shots`: whether few-shot examples, which are
    never videos, may be shown. Raises UsageError."""
    defaults_by_name = {name: values[0] for name, values in video_options(defaults).items()}
    chosen = {name: variant.options.get(name, value) for name, value in defaults_by_name.items()}
    for name, values in _CHOICES.items():
        if name in chosen:
            check_allowed(name, chosen[name], values)
    count = _parse_number("frames", chosen["frames"], MAX_FRAMES)
    fps = None if chosen["fps"] == "off" else _parse_number("fps", chosen["fps"], 1000)
    edge = None if chosen["edge"] == "off" else _parse_number("edge", chosen["edge"], 1 << 16)
    if count != int(count) or (edge is not None and edge != int(edge)):
        raise UsageError("frames and edge are whole numbers")
    sampling = FrameSampling(
        count=int(count), fps=fps, rule=cast(FrameRule, chosen["sampling"]), edge=None if edge is None else int(edge)
    )
    other_options = {name: value for name, value in variant.options.items() if name not in defaults_by_name}
    if not allow_shots and other_options.get("shots", "0") != "0":
        raise UsageError("shots are not shown before questions about videos")
    form = chosen["video"]
    recorded = tuple(defaults_by_name)
    if form == "native":
        recorded = tuple(name for name in ("video", "subtitles", SUBTITLE_TIMES) if name in chosen)
    elif form == "clip" and chosen["times"] == "on":
        raise UsageError("video=clip hands the times over with the frames; leave out times=on")
    shows_subtitle_times = chosen.get(SUBTITLE_TIMES) == "on"
    if shows_subtitle_times and chosen["subtitles"] == "off":
        raise UsageError(
            f"{SUBTITLE_TIMES}=on is about subtitles, which are not shown; add subtitles=frames or subtitles=all"
        )
    watching = VideoOptions(
        form=form,
        sampling=sampling,
        show_times=chosen["times"] == "on",
        subtitles=chosen["subtitles"],
        show_subtitle_times=shows_subtitle_times,
        parameters={
            name: chosen[name] for name in recorded if name in ("video", "frames", "sampling") or chosen[name] != "off"
        },
        cache=Settings.from_environment().cache,
    )
    return replace(variant, options=other_options), watching


def show_videos(
    benchmark: Benchmark,
    video: VideoOptions,
    defaults: Mapping[str, str] | None = None,
    *,
    in_every_question: bool = True,
) -> Benchmark:
    """The benchmark whose videos are replaced by frames, or kept, right before a question is asked.

    With `in_every_question` a model that cannot be shown videos is refused before the run.
    """
    own, own_reason = benchmark.prepare, benchmark.unsupported_reason

    def prepare(sample: Sample) -> Sample:
        return with_frames(own(sample) if own else sample, video)

    return replace(
        benchmark,
        prepare=prepare,
        unsupported_reason=_unsupported_reason(video, own_reason),
        requires=_video_requirements(video) if in_every_question else benchmark.requires,
        options={**benchmark.options, **video_options(defaults)},
        parameters={**benchmark.parameters, **video.parameters},
    )


def _video_requirements(video: VideoOptions) -> Requirement:
    if video.native:
        return requires("text", "video")
    if video.form == "clip":
        return _requires_clips
    return requires("text", "image")


def _requires_clips(capabilities: Capabilities) -> str | None:
    if capabilities.clips:
        return None
    return f"{_NO_CLIPS}; show the frames as images (video=frames)"


def with_frames(sample: Sample, video: VideoOptions) -> Sample:
    """Replace the sample's videos by frames, with subtitles and times if chosen.

    A video that cannot be read becomes a medium that fails when read, so that the sample fails with
    a typed error.
    """
    if not any(ref.kind == "video" for ref in sample.media):
        return sample
    try:
        return _replace_videos(sample, video)
    except MediaError as error:
        return structs.replace(sample, media=(unavailable_image(sample.media, str(error)),))


def _replace_videos(sample: Sample, video: VideoOptions) -> Sample:
    media: list[MediaRef] = []
    lines: list[str] = []
    image_tags: list[str] = []
    pictures: list[int] = []
    for ref in sample.media:
        if ref.kind != "video":
            media.append(ref)
            pictures.append(len(media))
            continue
        frames = _frames(ref, video)
        first = len(media) + 1
        if video.form == "clip":
            media.append(clip_medium(frames, _start(ref)))
        else:
            media += [frame.ref for frame in frames]
        names = [f"<image {number}>" for number in range(first, len(media) + 1)]
        image_tags.append("".join(names))
        lines += _time_lines(frames, names) if video.show_times else []
        lines += _subtitle_lines(ref, frames, video)
    timed = video.show_times and any("<image" in line for line in lines)
    sample = _number_picture_tags(sample, pictures)
    question = _put_image_tags(sample.question, image_tags, tags_in_hint=timed)
    hint = "\n".join(part for part in ("\n".join(lines), sample.hint) if part)
    return structs.replace(sample, media=tuple(media), question=question, hint=hint)


def _frames(ref: MediaRef, video: VideoOptions) -> list[Frame]:
    if video.native:
        return [Frame(ref, None)]
    return extract_frames(ref, video.sampling, video.cache)


def _start(ref: MediaRef) -> float:
    """Where the part of a video begins that is asked about, in seconds."""
    source = ref.source
    return (source.start or 0.0) if isinstance(source, VideoFile) else 0.0


def _time_lines(frames: Sequence[Frame], names: Iterable[str]) -> list[str]:
    return [f"{frame.time:.1f} s: {name}" for frame, name in zip(frames, names, strict=True) if frame.time is not None]


def _subtitle_lines(ref: MediaRef, frames: Sequence[Frame], video: VideoOptions) -> list[str]:
    source = ref.source
    path = source.subtitles if isinstance(source, VideoFile | FrameFolder) else None
    if video.subtitles == "off" or path is None:
        return []
    cues = read_subtitles(path)
    if video.subtitles == "frames" and not video.native:
        moments = [frame.time for frame in frames if frame.time is not None]
        if not moments:
            raise MediaError(
                f"the frames of this video have no times, by which subtitles=frames takes those of "
                f"{path}; take subtitles=all"
            )
        cues = cues_at(cues, moments)
    return [SUBTITLES, *(_cue_line(cue, video) for cue in cues)] if cues else []


def _cue_line(cue: Cue, video: VideoOptions) -> str:
    """A subtitle, after its times in seconds where these are shown, in VLMEvalKit's form."""
    if not video.show_subtitle_times:
        return cue.text
    return f"[{round(cue.start, 3)}, {round(cue.end, 3)}] {cue.text}"


def _number_picture_tags(sample: Sample, pictures: Iterable[int]) -> Sample:
    """Number the tags of pictures in the order of a prompt: without numbers they would count the frames."""
    remaining = iter(pictures)

    def number(text: str) -> str:
        return _PICTURE_TAG.sub(lambda tag: f"<image {picture}>" if (picture := next(remaining, 0)) else tag[0], text)

    hint, question = number(sample.hint), number(sample.question)
    return structs.replace(
        sample, hint=hint, question=question, options={label: number(text) for label, text in sample.options.items()}
    )


def _put_image_tags(question: str, image_tags: Sequence[str], *, tags_in_hint: bool) -> str:
    """Put the frames where the question has `<video>`; remove the tags if frames are in the
    hint."""
    remaining_tags = iter(image_tags)
    return _VIDEO_TAG.sub(lambda _: "" if tags_in_hint else next(remaining_tags, ""), question).strip()


def _unsupported_reason(
    video: VideoOptions, own: Callable[[Sample, Capabilities], str | None] | None
) -> Callable[[Sample, Capabilities], str | None]:
    def reason(sample: Sample, capabilities: Capabilities) -> str | None:
        videos = [ref for ref in sample.media if ref.kind == "video"]
        if not videos:
            return own(sample, capabilities) if own else None
        if video.native:
            return _unsupported_native(videos, capabilities)
        if video.form == "clip":
            return _requires_clips(capabilities)
        if "image" not in capabilities.inputs:
            return "the model takes no image input, as which the frames of a video are shown"
        return own(structs.replace(sample, media=()), capabilities) if own else None

    return reason


def _unsupported_native(videos: Sequence[MediaRef], capabilities: Capabilities) -> str | None:
    if "video" not in capabilities.inputs:
        other = " or as one video (video=clip)" if capabilities.clips else ""
        return f"the model takes no video input; show it frames as images (video=frames){other}"
    sources = [ref.source for ref in videos]
    if any(isinstance(source, FrameFolder) for source in sources):
        return "the video is a folder of frames; show them (video=frames)"
    if any(isinstance(source, VideoFile) and (source.start or source.end or source.parts) for source in sources):
        return "the question is about a part of the video; show its frames (video=frames)"
    return None


def _parse_number(name: str, text: str, maximum: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= maximum:
        raise UsageError(f"{name}={text}: expected a number above 0, at most {maximum:g}")
    return number


def find_videos(
    table: DataTable, variant: Variant, name: str, columns: Mapping[str, str] = MappingProxyType({})
) -> DataTable:
    """Also look for the rows' videos in the folder `videos/<name>` of the cache. `columns` is
    `Video.columns`."""
    if not isinstance(table, IndexedTable):
        return table
    if not {"video", "video_path"} & set(table.columns) or columns.keys() - {"video"}:
        video_column = next((name for name in VIDEO_NAMES if name in table.columns), None)
        named = {role: column for role, column in columns.items() if column in table.columns}
        named = named or ({"video": video_column} if video_column else {})
        reopened = open_table(table.path, columns={**variant.columns, **named}) if named else None
        if isinstance(reopened, IndexedTable):
            table = replace(reopened, origin=table.origin)
    home = str(Settings.from_environment().cache / "videos" / name)
    return replace(table, media_folders=table.media_folders.with_folder(home))

"""MVTamperBench: was a video tampered with? The videos of 19 tasks of MVBench, each also with a
second dropped, masked, repeated, rotated or replaced (Agarwal et al. 2024,
https://arxiv.org/abs/2412.19794).

One example row: task_type "Action Sequence", tamper_type "masking", prefix
"video/star/Charades_v1_480/", video "ZS9XR_middle_tampered_masking_1sec.mp4", question "Does this
video exhibit any signs of tampering, ...?", candidates ["Yes", "No"], answer "Yes".

Five of six answers are Yes, so that the share of right questions (the headline, as VLMEvalKit
returns it) is 83 for a model that says Yes to everything. Beside it `f1`, `precision`, `recall` and
`tampering_accuracy`: the means over the five kinds of tampering, each told from the originals.

Oddities: three data sets, tampered in the middle, at the start or at the end (`place`), whose files
all say "middle". Rows of some tasks have `start` and `end` of the question in MVBench; here the
whole video is shown, as there. The versions of one video are one unit of the intervals. VLMEvalKit
looks for the first word of a reply inside "(a)", the gold's label, so that an empty reply is right
(`--rule vlmevalkit`); ours does not. Its prompt opens the answer with "Best option:("; ours asks
for the option.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, adjust_choice
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT
from snellen.benchmarks.videos.mvbench import FOLDERS, TEMPLATE, task_file
from snellen.benchmarks.videos.mvtamperbench.detection import TAMPERING, TASK, summarise_detection
from snellen.core.sample import MediaRef, Row, Sample
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts
from snellen.data.media.video_cells import VideoFile
from snellen.extract.published.vlmevalkit_own import first_word_parser

_PLACE_FILES = {
    "middle": ("MVTamperBench", "3557260881ba47db8add440c5edb742a"),
    "start": ("MVTamperBenchStart", "c1d3c299ddbff6000f0d9cad820187b8"),
    "end": ("MVTamperBenchEnd", "aa2c19dd02e1b006ee2d4be9f6f2b62b"),
}
"""By place of the tampering: the data set on the hub, and the MD5 of VLMEvalKit's TSV."""
_FOLDERS = {
    **{task: folder for task, folder in FOLDERS.items() if task != "Fine-grained Pose"},
    "Episodic Reasoning": "tvqa/frames_fps3",
}
"""MVBench's tasks but one, each with the folder of the unpacked archives that holds its videos."""
_TAMPERED = re.compile(r"(?:_(?:start|middle|end))?_tampered_[a-z]+_\d+sec$")


def _published_file(name: str, md5: str) -> PublishedFile:
    home = f"https://huggingface.co/datasets/Srikant86/{name}/resolve/main/json"
    parts = tuple(
        JsonPart(f"{home}/{task_file(task)}", {TASK: task, "prefix": f"video/{folder}/"})
        for task, folder in _FOLDERS.items()
    )
    return PublishedFile(f"{name}.tsv", RemoteFile(urls=(), md5=md5), JsonParts(f"{name}.jsonl", home, parts))


def adjust_tampered(sample: Sample, row: Row) -> Sample:
    """The choice of a row about the whole video; versions of one video share a unit."""
    sample = adjust_choice(sample, row)
    return structs.replace(
        sample,
        media=tuple(map(_whole_video, sample.media)),
        groups=_groups(row, sample),
        unit=f"{row.cells.get('prefix', '')}{source_video(sample.unit)}",
    )


def source_video(name: str) -> str:
    """The name of the video that was tampered with, without its suffix."""
    return _TAMPERED.sub("", str(PurePosixPath(name).with_suffix("")))


def _groups(row: Row, sample: Sample) -> dict[str, str]:
    both = [row.cells.get(column, "") for column in (TASK, TAMPERING)]
    pair = {"task_tamper_type": "_".join(both)} if all(both) else {}
    return {**sample.groups, **pair}


def _whole_video(ref: MediaRef) -> MediaRef:
    source = ref.source
    if not isinstance(source, VideoFile):
        return ref
    return MediaRef(source.digest, replace(source, start=None, end=None), "video")


BENCHMARK = Declaration(
    name="mvtamperbench",
    version="4",
    title="MVTamperBench, tampered videos",
    paper="https://arxiv.org/abs/2412.19794",
    provenance="MVTamperBench of Srikant86 (MIT; licences of the videos apply)",
    data=Published(
        {"place": tuple(_PLACE_FILES)}, {(place,): _published_file(*file) for place, file in _PLACE_FILES.items()}
    ),
    aliases={
        "MVTamperBenchStart": {"place": "start"},
        "MVTamperBenchEnd": {"place": "end"},
        "MVTamperBench_8frame": {"frames": "8"},
        "MVTamperBenchStart_8frame": {"place": "start", "frames": "8"},
        "MVTamperBenchEnd_8frame": {"place": "end", "frames": "8"},
    },
    group_by=(TASK, TAMPERING),
    template=TEMPLATE,
    kind="choice",
    adjust=adjust_tampered,
    max_new_tokens=MAX_NEW_TOKENS,
    video=Video(),
    scoring=choices(
        vlmevalkit=PARSERS[VLMEVALKIT]._replace(choice_with_gold=partial(first_word_parser, failed_is_right=False))
    ),
    headline=Headline(summarise=summarise_detection, in_circular=False),
)

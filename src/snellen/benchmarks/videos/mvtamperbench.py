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

A kind of tampering is told from the videos that nobody tampered with: its table has its own
questions and all those about originals, whose answer is No. A reply that is not right counts as the
other answer, as in VLMEvalKit (`utils/tamperbench.py`), so that a reply without an answer to a
question about an original is a false alarm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, adjust_choice
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT
from snellen.benchmarks.videos.mvbench import FOLDERS, TEMPLATE, task_file
from snellen.core.record import Record
from snellen.core.sample import MediaRef, Row, Sample
from snellen.core.summary import FailurePolicy, Metric, Summary, SummaryContext
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts
from snellen.data.media.video_cells import VideoFile
from snellen.extract.published.vlmevalkit_own import first_word_parser
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios

TAMPERING, TASK = "tamper_type", "task_type"
ORIGINAL = "original"


class DetectionVerdict(NamedTuple):
    """What one reply adds: a hit, a false alarm, a miss, or none of them (a rejection)."""

    hit: bool
    false_alarm: bool
    miss: bool
    right: bool


NUMBERS: Mapping[str, Callable[[DetectionVerdict], tuple[int, int]]] = {
    "f1": lambda one: (2 * one.hit, 2 * one.hit + one.false_alarm + one.miss),
    "precision": lambda one: (int(one.hit), one.hit + one.false_alarm),
    "recall": lambda one: (int(one.hit), one.hit + one.miss),
    "tampering_accuracy": lambda one: (int(one.right), 1),
}
"""What a reply adds to numerator and denominator of each number; 0 of nothing is 0."""


def summarise_detection(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain summary, beside it the means of the numbers over the kinds of tampering, and the
    numbers of each kind and the F1 of each task."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return summary
    metrics = {
        name: metric for name in NUMBERS if (metric := _mean_over_kinds(name, records, context.failures)) is not None
    }
    groups = dict(summary.groups)
    for name in NUMBERS:
        groups[f"{TAMPERING} {name}"] = _by_kind(name, records, context.failures)
    groups[f"{TASK} f1"] = _f1_by_task(records, context.failures)
    return structs.replace(
        summary,
        metrics={**summary.metrics, **metrics},
        groups={column: labels for column, labels in groups.items() if labels},
        beside=(*summary.beside, *(name for name in ("f1",) if name in metrics)),
    )


def _mean_over_kinds(name: str, records: Sequence[Record], failures: FailurePolicy) -> Metric | None:
    """The mean over the kinds of tampering in percent; None without a kind or without originals."""
    kinds = _kinds(records)
    if not kinds or not any(record.groups.get(TAMPERING) == ORIGINAL for record in records):
        return None
    terms = [_terms(name, record, kinds, failures) for record in records]
    sums = sum_of_ratios(terms)
    if sums is None:
        return None
    interval = headline_interval(sums, records)
    return Metric(name, sums.of_all(), sum(map(bool, terms)), interval)


def _by_kind(name: str, records: Sequence[Record], failures: FailurePolicy) -> dict[str, Metric]:
    found = {}
    for kind in _kinds(records):
        members = [one for one in records if one.groups.get(TAMPERING) in (kind, ORIGINAL)]
        metric = _mean_over_kinds(name, members, failures)
        if metric is not None:
            found[kind] = metric
    return found


def _f1_by_task(records: Sequence[Record], failures: FailurePolicy) -> dict[str, Metric]:
    found = {}
    for task in sorted({one.groups[TASK] for one in records if TASK in one.groups}):
        members = [one for one in records if one.groups.get(TASK) == task]
        metric = _mean_over_kinds("f1", members, failures)
        if metric is not None:
            found[task] = metric
    return found


def _kinds(records: Sequence[Record]) -> list[str]:
    labels = {record.groups[TAMPERING] for record in records if TAMPERING in record.groups}
    return sorted(labels - {ORIGINAL})


def _terms(name: str, record: Record, kinds: Sequence[str], failures: FailurePolicy) -> list[RatioTerm]:
    """What a record adds to the number of its kind of tampering; an original adds to that of every
    kind."""
    score, kind = counted_score(record, failures), record.groups.get(TAMPERING)
    if score is None or kind is None or not record.gold:
        return []
    is_tampered, right = kind != ORIGINAL, score == 1.0
    verdict = DetectionVerdict(
        hit=is_tampered and right,
        false_alarm=not is_tampered and not right,
        miss=is_tampered and not right,
        right=right,
    )
    shares = NUMBERS[name](verdict)
    return [RatioTerm(own, *shares) for own in (kinds if kind == ORIGINAL else (kind,))]


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
    """The name of the video that was tampered with, without its suffix; "" for a row without one."""
    path = PurePosixPath(name)
    return _TAMPERED.sub("", str(path.with_suffix(""))) if path.name else ""


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

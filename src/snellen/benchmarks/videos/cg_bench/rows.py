"""CG-Bench's rows: the authors' questions as VLMEvalKit's tables have them, and their samples; and
how far the intervals of time that a reply names overlap with the right ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Options
from snellen.benchmarks.declaration.judged import first_cell
from snellen.benchmarks.declaration.rows import build_sample
from snellen.core.errors import DataError
from snellen.core.literals import parse_finite
from snellen.core.media import digest_bytes
from snellen.core.sample import MediaRef, Row, Sample
from snellen.data.columns import parse_list, row_gold
from snellen.data.json_parts import Records
from snellen.data.media.video_cells import VideoFile

TimeSpan = tuple[float, float]
"""Beginning and end, in seconds."""


def merge_intervals(intervals: Sequence[TimeSpan]) -> list[TimeSpan]:
    """The intervals in order of their beginnings, those that overlap or touch as one."""
    merged: list[TimeSpan] = []
    for start, end in sorted(intervals, key=lambda interval: interval[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def intersection_over_union(first: Sequence[TimeSpan], second: Sequence[TimeSpan]) -> float:
    """The length that both sets cover over the length that either covers; 0 if that is nothing.

    An interval whose end is before its beginning has a negative length, as in the authors' script.
    """
    ours, theirs = merge_intervals(first), merge_intervals(second)
    shared = sum(max(0.0, min(one[1], other[1]) - max(one[0], other[0])) for one in ours for other in theirs)
    union = sum(end - start for start, end in (*ours, *theirs)) - shared
    return shared / union if union > 0 else 0.0


TASK, LONG, CLUE, GROUNDING = "task_mode", "long_acc", "clue_acc", "miou"
DURATION, DOMAIN, ABILITY = "duration", "domain", "sub_category"
SECONDS = "seconds"
"""Key in `Sample.options` of the length of the video, for intervals in parts of it."""
CLUES = "clue intervals"
"""Key in `Sample.options` of the parts of the video that hold the clues, for judges."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LAST_RANGE = 60


def choice_records(document: Any) -> Records:
    """Three rows for each of the authors' questions: about the whole video, about its clues, and
    where these are. All rows of a task stand together, as in VLMEvalKit's table."""
    for task in (LONG, CLUE, GROUNDING):
        for record in document:
            clues = json.dumps(record["clue_intervals"])
            yield {
                **_common_cells(record),
                "choices": record["choices"],
                "answer": clues if task == GROUNDING else record["right_answer"],
                TASK: task,
                "clue_intervals": clues if task == CLUE else "",
            }


def open_records(document: Any) -> Records:
    """A row for each of the authors' questions, which is answered in words."""
    for record in document:
        clues = json.dumps(record["clue_intervals"])
        yield {**_common_cells(record), "answer": record["answer"], "clue_intervals": clues}


def _common_cells(record: Mapping[str, Any]) -> dict[str, Any]:
    video = record["video_uid"]
    return {
        "video_uid": video,
        "video": f"cg_videos_720p/{video}.mp4",
        "duration": record["duration"],
        "domain": record["domain"],
        "sub_category": record["sub_category"],
        "subtitle_path": f"cg_subtitles/{video}.srt",
        "question": record["question"],
        "qid": record["qid"],
    }


def choice_sample(row: Row, options: Options) -> Sample:
    """Of one of the three tasks. The samples of one question are one unit.

    A question about the clues shows the parts of the video that hold them. A question where they
    are is open: its gold answer is a list of intervals in seconds. Raises DataError.
    """
    cells = row.cells
    task = cells.get(TASK, LONG)
    choices = dict(zip(_LETTERS, map(str, parse_list(_choices(row)) or ()), strict=False))
    groups = {**_groups(cells), TASK: task}
    if task == GROUNDING:
        listed = "\n".join(f"{label}:{text}" for label, text in choices.items())
        return build_sample(
            row,
            question=f"Question: {cells.get('question', '')}\n\n{listed}",
            options={SECONDS: cells.get("duration", "")},
            gold=_gold_spans(cells),
            groups=groups,
            unit=_unit(row),
        )
    clues = parse_spans(cells.get("clue_intervals", "")) if task == CLUE else []
    sample = build_sample(row, kind="choice", options=choices, gold=row_gold(row)[:1], groups=groups, unit=_unit(row))
    return structs.replace(sample, media=tuple(parts_of_video(ref, clues) for ref in row.media))


def open_sample(row: Row, options: Options) -> Sample:
    """A question that is answered in words. Raises DataError."""
    clues = {CLUES: row.cells.get("clue_intervals", "")}
    return build_sample(row, gold=row_gold(row)[:1], groups=_groups(row.cells), options=clues, unit=_unit(row))


def _gold_spans(cells: Mapping[str, str]) -> tuple[str, ...]:
    """The gold intervals as JSON; none if the answer is withheld."""
    spans = _decode_spans(first_cell(cells, "answer"))
    return (json.dumps(spans),) if spans else ()


def parse_spans(text: str) -> list[TimeSpan]:
    """The intervals of a cell, `[[8, 11], ...]`, merged; empty if it holds none."""
    return merge_intervals(_decode_spans(text))


def _decode_spans(text: str) -> list[TimeSpan]:
    try:
        return msgspec.json.decode(text or "[]", type=list[TimeSpan])
    except msgspec.DecodeError:
        return []


def parts_of_video(ref: MediaRef, parts: Iterable[TimeSpan]) -> MediaRef:
    """The video as these parts of it; as it is if there are none, or if it is no file."""
    source, spans = ref.source, tuple(parts)
    if not spans or not isinstance(source, VideoFile):
        return ref
    digest = digest_bytes(f"{source.digest}:{spans}".encode())
    return MediaRef(digest, replace(source, parts=spans), "video")


def duration_range(seconds: float) -> str:
    """The range of minutes that a video's length is in: 10 minutes are in "0 ~ 10"."""
    minutes = seconds / 60
    if minutes > _LAST_RANGE:
        return f"{_LAST_RANGE}+"
    end = next(end for end in range(10, _LAST_RANGE + 1, 10) if minutes <= end)
    return f"{end - 10} ~ {end}"


def _choices(row: Row) -> str:
    """The list of options, which tables may have spread over the columns A, B, ..."""
    listed = first_cell(row.cells, "choices")
    if listed:
        return listed
    return json.dumps([row.cells[label] for label in _LETTERS if row.cells.get(label)])


def _groups(cells: Mapping[str, str]) -> dict[str, str]:
    """Domain, ability and range of length. Raises DataError for a length that is no number."""
    named = {column: cells.get(column, "") for column in (DOMAIN, ABILITY)}
    duration = cells.get("duration", "")
    if not duration:
        return named
    seconds = parse_finite(duration)
    if seconds is None:
        raise DataError(f"`duration` is {duration!r}; expected the length of the video in seconds")
    return {**named, DURATION: duration_range(seconds)}


def _unit(row: Row) -> str:
    """The question, by its number among the authors', else by its words and video."""
    cells = row.cells
    return cells.get("qid") or f"{cells.get('video', '')}: {cells.get('question', '')}"

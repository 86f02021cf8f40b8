"""CG-Bench's questions that are answered in words, graded by judges in two steps.

The judges compare the reply with the gold answer: 0 or 1, or 2 where only the video can tell. Then
they are asked again, with 32 frames of the clues, and say 0 or 1. A judge must then take images. A
reply whose video is not here stays ungraded at a 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from snellen.benchmarks.declaration.judged import Judged
from snellen.benchmarks.protocol.judged_flows import ask_for_reply, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges, judge_values
from snellen.benchmarks.videos.cg_bench.prompts import OPEN_TEMPLATE
from snellen.benchmarks.videos.cg_bench.rows import CLUES, parse_spans, parts_of_video
from snellen.core.errors import MediaError
from snellen.core.output import ParsedAnswer
from snellen.core.record import Flow, Pass, Record
from snellen.core.request import Generation, Ref
from snellen.core.sample import MediaRef, Sample
from snellen.data.media.frame_sampling import FrameSampling
from snellen.data.media.frames import ClipSource, FrameSource, extract_frames
from snellen.data.media.video_cells import VideoFile
from snellen.extract.clean import without_thinking
from snellen.extract.published.cg_bench import RESULT, RULE
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_grade, parse_object
from snellen.prompts.choice import prompt
from snellen.settings import Settings

COMPARE, LOOK = "cg-bench-open", "cg-bench-look"
"""The rubrics of the two steps."""
_UNDECIDED = 2.0
_CLUE_FRAMES = 32
_LOOKING = "look"


def parse_result_grade(reply: str, *, top: float) -> ParsedVerdict | None:
    """A whole number from 0 to `top`: the object's `result`, else the only number."""
    found = parse_object(reply)
    text = str(found[RESULT]) if found is not None and RESULT in found else reply
    return parse_grade(text, 0.0, top, integers_only=True)


def answer_of(reply: str) -> str:
    """The object's `result`, else the whole reply but its thoughts."""
    found = parse_object(reply)
    answer = found[RESULT] if found is not None and RESULT in found else without_thinking(reply)
    return str(answer).strip()


def _open_flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    def flow(sample: Sample) -> Flow:
        """Ask the model, have the judges compare its answer, and look if they cannot tell."""
        messages = prompt(sample, template=OPEN_TEMPLATE)
        output = yield from ask_for_reply(sample, messages, settings)
        if isinstance(output, Record):
            return output
        answer = answer_of(output.text)
        if not sample.gold:
            read = ParsedAnswer(answer, RULE)
            return build_record(sample, (Pass(messages, output, read, sample.gold),))
        fields = {"question": sample.question, "gold": sample.gold[0], "reply": answer}
        ref = Ref(sample.id)
        verdicts = yield from ask_judges(
            panel, COMPARE, fields, partial(parse_result_grade, top=_UNDECIDED), ref, about=answer
        )
        all_verdicts = verdicts.verdicts
        if _is_undecided(verdicts):
            frames = _clue_frames(sample)
            looking = PanelVerdicts(())
            if frames:
                looking = yield from ask_judges(
                    panel,
                    LOOK,
                    fields,
                    partial(parse_result_grade, top=1.0),
                    ref,
                    about=answer,
                    step=_LOOKING,
                    media=frames,
                )
            verdicts = looking
            all_verdicts = (*all_verdicts, *looking.verdicts)
        result = Pass(messages, output, ParsedAnswer(answer, RULE), sample.gold, verdicts=all_verdicts)
        decided = PanelVerdicts(tuple(one for one in verdicts.readable if one.values[GRADE] != _UNDECIDED))
        grade = decided.grade()
        if grade is None or verdicts.failure is not None:
            return ungraded_record(sample, (result,), verdicts)
        values = judge_values(decided, lambda own_grade: own_grade)
        return build_record(sample, (result,), score=grade, values=dict(values))

    return flow


def _is_undecided(verdicts: PanelVerdicts) -> bool:
    """Whether at least half of the readable verdicts say that only the video can tell."""
    grades = [verdict.values[GRADE] for verdict in verdicts.readable]
    return bool(grades) and 2 * grades.count(_UNDECIDED) >= len(grades)


def _clue_frames(sample: Sample) -> list[MediaRef]:
    """The frames of the clues; empty if the video or its clues are not here."""
    video = next(filter(None, map(_video_file, sample.media)), None)
    clues = parse_spans(sample.options.get(CLUES, ""))
    if video is None or not clues:
        return []
    whole = MediaRef(video.digest, replace(video, start=None, end=None), "video")
    sampling = FrameSampling(count=_CLUE_FRAMES)
    try:
        frames = extract_frames(parts_of_video(whole, clues), sampling, Settings.from_environment().cache)
    except MediaError:
        return []
    return [frame.ref for frame in frames]


def _video_file(ref: MediaRef) -> VideoFile | None:
    """The video of which a medium is a frame, a clip, or the whole."""
    source = ref.source
    if isinstance(source, ClipSource) and source.frames:
        return _video_file(source.frames[0])
    if isinstance(source, FrameSource):
        return source.clip.source if isinstance(source.clip.source, VideoFile) else None
    return source if isinstance(source, VideoFile) else None


OPEN_SCORING = Judged(flow=_open_flow, rubrics=(COMPARE, LOOK), must_judge=True, max_judge_tokens=256)
"""The open part has no score without a judge."""

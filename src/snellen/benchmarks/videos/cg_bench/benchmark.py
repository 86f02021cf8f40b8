"""CG-Bench: 12,129 questions about 1,219 long videos, each answered by a clue of some seconds (Chen
et al. 2024, https://arxiv.org/abs/2412.12075).

One example row of the choices: video "cg_videos_720p/3ZpmN3-2-Zo.mp4", duration 2741, domain "Art &
Culture", sub_category "Entity Perception", question "In the video, what color is the vehicle ...?",
choices ["Light gray", ..., "White", ...], task_mode "long_acc", answer "E", qid 14.

Two parts. `part=choice` (the default) asks every question three times: about the whole video
(`long_acc`, the headline), about the clues alone (`clue_acc`), and where the clues are (`miou`,
intervals in seconds). `part=open` has a model answer in words, which a judge grades: 0 or 1 by the
gold answer, or 2 where only the video can tell, and then again with 32 frames of the clues. The
parts have no common number. `edition=mini` has 3,000 questions.

Oddities: a table has a row for each task of a question, and the rows of one question are one unit.
With `times=on` the intervals are asked for in seconds, else in parts of the video's length; a reply
whose ends are all at most 1 is read as such parts. The frames of the clues are shared out by their
length, as the authors do, and are cut out of the whole video, not read from the published clips.
Subtitles are shown without their times unless `subtitle_times=on`, which VLMEvalKit's names with
`subt` mean; they stand behind Video-MME's line, which VLMEvalKit leaves out here. It leaves what it
cannot read out of every number (`--rule vlmevalkit`); here that is wrong. In its open part it pairs
verdicts with replies in the order of a set of the questions' numbers, which need not be that of the
rows; here each has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.declaration.videos import SUBTITLE_TIMES
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT
from snellen.benchmarks.videos.cg_bench.open_part import OPEN_SCORING
from snellen.benchmarks.videos.cg_bench.prompts import choice_template
from snellen.benchmarks.videos.cg_bench.rows import (
    SECONDS,
    TimeSpan,
    choice_records,
    choice_sample,
    intersection_over_union,
    open_records,
    open_sample,
)
from snellen.benchmarks.videos.cg_bench.summary import HEADLINE, long_sums, summarise_clues
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.sample import Sample
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts
from snellen.extract.published.cg_bench import (
    IN_PARTS,
    parse_clues,
    parse_clues_vlmevalkit,
    parse_result_choice,
    result_parser,
)

VERSION = "3"
PART, CHOICE, OPEN = "part", "choice", "open"
EDITION, FULL, MINI = "edition", "full", "mini"
_PAIRS = msgspec.json.Decoder(list[tuple[float, float]])
_MD5 = {
    (CHOICE, FULL): ("CG-Bench_MCQ_Grounding", "eaead3d978a689269fefce4ae29c86df"),
    (CHOICE, MINI): ("CG-Bench_MCQ_Grounding_Mini", "54ed3e90a51a6fb375c92b319a715f72"),
    (OPEN, FULL): ("CG-Bench_OpenEnded", "796035eda0b1e916c517cdc1bc145cfc"),
    (OPEN, MINI): ("CG-Bench_OpenEnded_Mini", "9175791b11afdfa305fdb3e525b7a4ee"),
}
"""By part and edition: the name of VLMEvalKit's table, and its MD5."""
_QUESTIONS = {FULL: "cgbench.json", MINI: "cgbench_mini.json"}


def _published_file(part: str, edition: str) -> PublishedFile:
    name, md5 = _MD5[part, edition]
    url = f"https://huggingface.co/datasets/CG-Bench/CG-Bench/resolve/main/{_QUESTIONS[edition]}"
    records = choice_records if part == CHOICE else open_records
    return PublishedFile(
        f"{name}.tsv", RemoteFile(urls=(), md5=md5), JsonParts(f"{name}.jsonl", url, (JsonPart(url, records=records),))
    )


def grade_overlap(answer: str, sample: Sample) -> float:
    """The overlap of the named intervals with the gold ones, 0..1."""
    text = answer.removesuffix(IN_PARTS)
    length = float(sample.options.get(SECONDS) or 1) if text != answer else 1.0
    named: list[TimeSpan] = [(start * length, end * length) for start, end in _PAIRS.decode(text)]
    overlap = intersection_over_union(_PAIRS.decode(sample.gold[0]), named)
    return min(1.0, max(0.0, overlap))


_SCORING = RuleScoring(
    rules={
        OWN: PARSERS[OWN]._replace(choice=parse_result_choice, open=OpenScoring(parse_clues, grade_overlap)),
        VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(
            choice_with_gold=result_parser, open=OpenScoring(parse_clues_vlmevalkit, grade_overlap)
        ),
    }
)


def _frames(count: str, **others: str) -> Mapping[str, str]:
    return {"frames": count, "sampling": "vlmevalkit", **others}


_SUBTITLES = {"subtitles": "frames"}
_TIMED_SUBTITLES = {**_SUBTITLES, SUBTITLE_TIMES: "on"}
_TIMED = {**_TIMED_SUBTITLES, "times": "on"}


def _for_variant(declaration: Declaration, variant: Variant) -> Declaration:
    options = variant.options
    if options.get(PART) == OPEN:
        return replace(
            declaration,
            title="CG-Bench, open questions about long videos",
            sample=open_sample,
            scoring=OPEN_SCORING,
            headline=Headline(),
        )
    frames_are_timed = options.get("times") == "on" and options.get("video", "frames") == "frames"
    return replace(declaration, template=choice_template(timed=frames_are_timed))


BENCHMARK = Declaration(
    name="cg-bench",
    version=VERSION,
    title="CG-Bench, choices about long videos and where their clues are",
    paper="https://arxiv.org/abs/2412.12075",
    provenance="CG-Bench/CG-Bench on the hub, as VLMEvalKit's TSV",
    data=Published(
        {PART: (CHOICE, OPEN), EDITION: (FULL, MINI)},
        {(part, edition): _published_file(part, edition) for part, edition in _MD5},
    ),
    aliases={
        "CG-Bench_MCQ_Grounding": {},
        "CG-Bench_MCQ_Grounding_Mini": {EDITION: MINI},
        "CGBench_MCQ_Grounding_Mini_8frame_subs_subt": {EDITION: MINI, **_frames("8", **_TIMED_SUBTITLES)},
        "CGBench_MCQ_Grounding_32frame_subs": _frames("32", **_SUBTITLES),
        "CGBench_MCQ_Grounding_16frame_subs_subt_ft": _frames("16", **_TIMED),
        "CG-Bench_OpenEnded": {PART: OPEN},
        "CG-Bench_OpenEnded_Mini": {PART: OPEN, EDITION: MINI},
        "CGBench_OpenEnded_Mini_8frame_subs_subt_ft": {PART: OPEN, EDITION: MINI, **_frames("8", **_TIMED)},
        "CGBench_OpenEnded_8frame": {PART: OPEN, **_frames("8")},
        "CGBench_OpenEnded_16frame_subs_subt_ft": {PART: OPEN, **_frames("16", **_TIMED)},
    },
    for_variant=_for_variant,
    sample=choice_sample,
    requires=REQUIRES_TEXT,
    video=Video(defaults={"frames": "32", SUBTITLE_TIMES: "off"}),
    scoring=_SCORING,
    headline=Headline(name=HEADLINE, summarise=summarise_clues, sums=long_sums, in_circular=False),
)

"""MovieChat-1K: open questions about long films, on the whole film or on a moment (Song et al.
2023, https://arxiv.org/abs/2307.16449).

One example row: index 0, video "1.mp4", mode "global", question "Is it day or night?", answer
"Day".

A judge says whether a reply is right and how well it matches, 0 to 5; the headline is the share of
right ones, `score` the mean match, both also by `mode`. Under `mode=breakpoint` the questions are
about a moment; the frames are those of the whole film, as in VLMEvalKit. There is no score without
a judge.

Oddities: the words for the judge are those of VLMEvalKit, which takes "yes" for right and anything
else for wrong; here a verdict is yes or no, and its score at most 5. Its name for the first
hundredth of the rows (`moviechat1k_global_8frame_limit0.01`) is `moviechat1k:mode=global` with a
`--limit`.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import Judged
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.point_grading import question_messages
from snellen.benchmarks.protocol.yes_no_scores import MatchProtocol, summarise_matches
from snellen.core.benchmark import REQUIRES_TEXT
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold

MODE, ALL, GLOBAL, BREAKPOINT = "mode", "all", "global", "breakpoint"
_MATCHES = MatchProtocol(rubric="moviechat1k", build_messages=question_messages)


def _sample(row: Row, options: Options) -> Sample | None:
    """Of the mode, or of both."""
    mode = row.cells.get(MODE, "").strip().lower()
    if options[MODE] not in (ALL, mode):
        return None
    return build_sample(row, gold=row_gold(row)[:1], groups={MODE: mode}, unit=video_name(row))


def _frames(count: str, **others: str) -> Mapping[str, str]:
    return {"frames": count, "sampling": "vlmevalkit", **others}


BENCHMARK = Declaration(
    name="moviechat1k",
    version="2",
    title="MovieChat-1K, questions about long films",
    paper="https://arxiv.org/abs/2307.16449",
    provenance="MovieChat-1K of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://huggingface.co/datasets/Enxin/VLMEval-MovieChat1k/resolve/main/MovieChat1k.tsv",
        "7c0aa7e10de1cddb37af42b4abc9a2dd",
    ),
    aliases={
        "MovieChat1k": {},
        "moviechat1k_breakpoint_8frame": _frames("8", mode=BREAKPOINT),
        "moviechat1k_global_14frame": _frames("14", mode=GLOBAL),
    },
    options={MODE: (ALL, GLOBAL, BREAKPOINT)},
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(),
    scoring=Judged(flow=_MATCHES.flow, rubrics=_MATCHES.rubrics, must_judge=True, max_judge_tokens=128),
    headline=Headline(summarise=summarise_matches),
)

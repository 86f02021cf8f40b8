"""VDC: captions of about a thousand videos, in five kinds, graded by questions about the video
(AuroraCap, Chai et al. 2024, https://arxiv.org/abs/2410.03051).

One example row: index 0, video "a.mp4", caption_type "camera", question "[{'question': 'Does the
camera move?', 'answer': 'It pans to the left'}, ...]".

The kinds are a short caption, a detailed one, and those of the background, the main object and the
camera. The model is asked for a caption alone. A judge then answers each question of the row from
the caption, and says whether the answer is right and how well it matches the gold one, 0 to 5
(VDCscore). The headline is the mean over captions of the share of right answers, `score` the mean
match, both also by `caption_type`. There is no score without a judge.

Oddities: VLMEvalKit draws the wording of the request from a list of some twenty; here it is the
first of each list. It keeps one verdict of each caption, whichever of its questions was graded
last; here all questions count. The words for the judges are the authors', as VLMEvalKit has them.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import first_cell, judges_alone
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.point_grading import question_messages
from snellen.benchmarks.protocol.yes_no_scores import MatchProtocol, decode_pairs, encode_pairs, summarise_matches
from snellen.core.benchmark import REQUIRES_TEXT
from snellen.core.sample import Row, Sample

KIND = "caption_type"
_REQUESTS = {
    "short": "Write a one-sentence summary of the video.",
    "detailed": (
        "The images are given containing equally spaced video frames. Please imagine the video "
        "based on the sequence of frames, and provide a faithfully detailed description of this "
        "video in more than three sentences."
    ),
    "background": (
        "The images are given containing equally spaced video frames. Summary of the background. "
        "This should also include the objects, location, weather, and time."
    ),
    "main_object": (
        "Description of the main subject actions or status sequence. This suggests including the "
        "main subjects (person, object, animal, or none) and their attributes, their action, "
        "their position, and movements during the video frames."
    ),
    "camera": (
        "Summary of the view shot, camera movement and changes in shooting angles in the sequence of video frames."
    ),
}
"""What the model is asked for by kind of caption."""
DETAILED_REQUEST = _REQUESTS["detailed"]
_MATCHES = MatchProtocol(rubric="vdc", build_messages=question_messages, by_questions=True)


def _sample(row: Row, options: Options) -> Sample:
    """The questions that a caption is graded by are its gold."""
    kind = row.cells.get(KIND, "").strip().lower()
    pairs = decode_pairs(first_cell(row.cells, "question"))
    return build_sample(
        row,
        question=_REQUESTS.get(kind, DETAILED_REQUEST),
        gold=encode_pairs(pairs) if pairs else "",
        groups={KIND: kind},
        unit=video_name(row),
    )


BENCHMARK = Declaration(
    name="vdc",
    version="2",
    title="VDC, captions of videos graded by questions",
    paper="https://arxiv.org/abs/2410.03051",
    provenance="wchai/Video-Detailed-Caption on the hub, as VLMEvalKit's TSV",
    data=single_tsv("https://huggingface.co/datasets/Enxin/VLMEval-VDC/resolve/main/VDC.tsv"),
    aliases={"VDC_8frame": {"frames": "8", "sampling": "vlmevalkit"}, "VDC_1fps": {"fps": "1", "frames": "2048"}},
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(),
    scoring=judges_alone(_MATCHES),
    headline=Headline(summarise=summarise_matches),
)

"""MVBench: 20 tasks of temporal understanding, 200 questions each (Li et al. 2024,
https://arxiv.org/abs/2311.17005).

One example row: task_type "Action Sequence", prefix "video/star/Charades_v1_480/", video
"ZS9XR.mp4", start 11.1, end 19.6, question "What happened after the person took the food?",
candidates ["Ate the medicine.", "Tidied up the blanket.", "Put down the cup/glass/bottle.", "Took
the box."], answer "Ate the medicine." (in VLMEvalKit's TSV "(A) Ate the medicine.").

Oddities: some questions are about a part of the video (`start`, `end`, in seconds); the videos of
Episodic Reasoning are folders of frames; those of NTU RGB+D must be asked of their owners. The
published questions are one JSON file a task, which VLMEvalKit joins into `MVBench.tsv`: give that
file, or one JSON file, with `--data`, and keep the videos beside it under their `prefix`.

The paper averages the tasks, which is the headline (`task_mean`); the authors' notebook and
VLMEvalKit average questions (`accuracy`), which is the headline by their rules. The notebook looks
for the first word of a reply inside "(x)" (`--rule official`), so that an empty reply is right; so
does VLMEvalKit (`--rule vlmevalkit`), which reads the rest as all choices, and where an error
message is right, too; ours does not. Its prompt opens the answer with "Best option:("; ours asks
for the option.
"""

from __future__ import annotations

from typing import Any

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, adjust_choice, group_mean
from snellen.benchmarks.protocol.parsers import OFFICIAL, OWN, PARSERS, VLMEVALKIT
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts, Records
from snellen.extract.published.official import opening_parser
from snellen.extract.published.vlmevalkit_own import first_word_parser
from snellen.prompts.choice import PromptTemplate

HEADLINE = "task_mean"
_HOME = "https://huggingface.co/datasets/OpenGVLab/MVBench/resolve"
FOLDERS = {
    "Action Sequence": "star/Charades_v1_480",
    "Action Prediction": "star/Charades_v1_480",
    "Action Antonym": "ssv2_video",
    "Fine-grained Action": "Moments_in_Time_Raw/videos",
    "Unexpected Action": "FunQA_test/test",
    "Object Existence": "clevrer/video_validation",
    "Object Interaction": "star/Charades_v1_480",
    "Object Shuffle": "perception/videos",
    "Moving Direction": "clevrer/video_validation",
    "Action Localization": "sta/sta_video",
    "Scene Transition": "scene_qa/video",
    "Action Count": "perception/videos",
    "Moving Count": "clevrer/video_validation",
    "Moving Attribute": "clevrer/video_validation",
    "State Change": "perception/videos",
    "Fine-grained Pose": "nturgbd",
    "Character Order": "perception/videos",
    "Egocentric Navigation": "vlnqa",
    "Episodic Reasoning": "tvqa/frames_fps3_hq",
    "Counterfactual Inference": "clevrer/video_validation",
}
"""The tasks, each with the folder of the unpacked archives that holds its videos."""


def task_file(task: str) -> str:
    """Name of the published file of a task's questions: "fine_grained_pose.json"."""
    return f"{task.lower().replace(' ', '_').replace('-', '_')}.json"


def _records_of_document(document: Any) -> Records:
    """The records of the branch `video`, each with the folder of its task."""
    for task, records in document["meta"].items():
        for record in records:
            yield {"task_type": task, "prefix": document["root"][task], **record}


_MAIN = JsonParts(
    "MVBench.jsonl",
    f"{_HOME}/main/json",
    tuple(
        JsonPart(f"{_HOME}/main/json/{task_file(task)}", {"task_type": task, "prefix": folder})
        for task, folder in FOLDERS.items()
    ),
)
_MP4 = JsonParts(
    "MVBench_MP4.jsonl",
    f"{_HOME}/video/test.json",
    (JsonPart(f"{_HOME}/video/test.json", records=_records_of_document),),
)
TEMPLATE = PromptTemplate(hint="{hint}", option="({label}) {text}", choose="Only give the best option.")


BENCHMARK = Declaration(
    name="mvbench",
    version="7",
    title="MVBench, 20 tasks of temporal understanding",
    paper="https://arxiv.org/abs/2311.17005",
    provenance="MVBench of OpenGVLab (licences of its sources apply), joined into one table",
    data=Published(
        {"edition": ("main", "mp4")},
        {
            ("main",): PublishedFile("MVBench.tsv", RemoteFile(urls=(), md5="fd21d36522cdedd46d84dc46715ad832"), _MAIN),
            ("mp4",): PublishedFile(
                "MVBench_MP4.tsv", RemoteFile(urls=(), md5="5c8c6f8b7972c2de65a629590f7c42f5"), _MP4
            ),
        },
    ),
    aliases={
        "MVBench": {},
        "MVBench_MP4": {"edition": "mp4"},
        "MVBench_8frame": {"frames": "8"},
        "MVBench_64frame": {"frames": "64"},
        "MVBench_MP4_8frame": {"edition": "mp4", "frames": "8"},
        "MVBench_MP4_1fps": {"edition": "mp4", "fps": "1", "frames": "2048"},
    },
    group_by=("task_type",),
    template=TEMPLATE,
    kind="choice",
    adjust=adjust_choice,
    max_new_tokens=MAX_NEW_TOKENS,
    video=Video(defaults={"frames": "16"}),
    scoring=choices(
        official=PARSERS[OWN]._replace(choice_with_gold=opening_parser),
        vlmevalkit=PARSERS[VLMEVALKIT]._replace(choice_with_gold=first_word_parser),
    ),
    headline=group_mean(HEADLINE, "task_type"),
    rule_headlines=dict.fromkeys((VLMEVALKIT, OFFICIAL), Headline()),
)

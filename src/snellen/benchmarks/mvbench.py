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

The paper averages the tasks, which is the headline (`task_mean`); VLMEvalKit averages questions
(`accuracy`). VLMEvalKit also takes an empty reply for right, because it looks for the reply inside
"(x)"; ours does not. Its prompt opens the answer with "Best option:("; ours asks for the option.
"""

from __future__ import annotations

from snellen.benchmarks.published import Published, PublishedFile
from snellen.benchmarks.video_questions import VideoQuestions, video_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.data.download import Remote
from snellen.prompts.choice import Wording

VERSION = "2"
HEADLINE = "task_mean"
ALIASES = {
    "MVBench": {},
    "MVBench_8frame": {"frames": "8"},
    "MVBench_64frame": {"frames": "64"},
    "MVBench_MP4_8frame": {"edition": "mp4", "frames": "8"},
    "MVBench_MP4_1fps": {"edition": "mp4", "fps": "1", "frames": "2048"},
}
DATA = Published(
    {"edition": ("main", "mp4")},
    {
        ("main",): PublishedFile(
            "MVBench.tsv", Remote(urls=(), md5="fd21d36522cdedd46d84dc46715ad832")
        ),
        ("mp4",): PublishedFile(
            "MVBench_MP4.tsv", Remote(urls=(), md5="5c8c6f8b7972c2de65a629590f7c42f5")
        ),
    },
)
WORDING = Wording(hint="{hint}", option="({label}) {text}", choose="Only give the best option.")


def benchmark(variant: Variant) -> Benchmark:
    return video_benchmark(
        variant,
        VideoQuestions(
            name="mvbench",
            version=VERSION,
            title="MVBench, 20 tasks of temporal understanding",
            data=DATA,
            wording=WORDING,
            groups=("task_type",),
            headline=HEADLINE,
            mean_of="task_type",
            defaults={"frames": "16"},
            paper="https://arxiv.org/abs/2311.17005",
            source="MVBench of OpenGVLab (licences of its sources apply), joined into one table",
        ),
    )

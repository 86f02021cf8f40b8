"""MME-RealWorld: multiple choice about large photographs, in English and Chinese
(Zhang et al. 2024, https://arxiv.org/abs/2408.13257).

One example row: index 0, question "What is the color of the traffic light ...?", A "(A) Red",
B "(B) Green", C "(C) Yellow", D "(D) Blue", E "(E) The image does not feature the object.",
answer "B", category "Perception/Autonomous_Driving", l2-category "Attribute_Color", image <base64>.

Oddities: five options, the last always says that the question cannot be answered from the image;
option cells may begin with their own letter. A category is task/subtask; both levels are groups
here. The first capital A to E anywhere is the authors' reading (`--rule official`), which reads
"Because it is big, the answer is (D)" as B; ours does not. Where there is none it takes the first
option that holds the whole reply, so that an empty one is A. VLMEvalKit's copy of it (`--rule
vlmevalkit`) knows no texts of options, and cuts four lead-ins more.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.sample import Row, Sample
from snellen.data.download import RemoteFile
from snellen.extract.published import vlmevalkit_own
from snellen.extract.published.official import parse_mme_realworld
from snellen.prompts.choice import PromptTemplate

_LITE = "https://huggingface.co/datasets/yifanzhang114/MME-RealWorld-Base64/resolve/main/mme_realworld_lite.tsv"


_HUB = "hf://yifanzhang114/MME-RealWorld"


def _hub_or_file(name: str, md5: str, hub: str) -> PublishedFile:
    """A file that VLMEvalKit makes from the authors' JSON files, else their rows on the hub."""
    rows = HubSplit(f"{hub}?split=train", {"image": "bytes", "options": "multi-choice options"})
    return PublishedFile(name, RemoteFile(urls=(), md5=md5), rows)


_CHINESE_TEMPLATE = PromptTemplate(
    question="{question}",
    options="选项如下所示:",
    option="({label}) {text}",
    choose="根据图像选择上述多项选择题的最佳答案。只需回答正确选项的字母（A, B, C, D 或 E）。\n最佳答案为：",
)
_TEMPLATE = PromptTemplate(
    question="{question}",
    options="The choices are listed below:",
    option="({label}) {text}",
    choose="Select the best answer to the above multiple-choice question based on the image. "
    "Respond with only the letter (A, B, C, D, or E) of the correct option.\nThe best answer is:",
    chinese=_CHINESE_TEMPLATE,
)
_LABEL_PREFIX = re.compile(r"\(([A-E])\)\s*")


def _adjust(sample: Sample, row: Row) -> Sample:
    """Options without their own letters; task and subtask as groups of their own."""
    options = {
        label: text[match.end() :] if (match := _LABEL_PREFIX.match(text)) and match[1] == label else text
        for label, text in sample.options.items()
    }
    task, slash, subtask = row.cells.get("category", "").partition("/")
    levels = {"task": task, "subtask": subtask} if slash else {}
    return replace(sample, options=options, groups={**levels, **sample.groups})


BENCHMARK = Declaration(
    name="mme-realworld",
    version="5",
    title="MME-RealWorld, large photographs",
    paper="https://arxiv.org/abs/2408.13257",
    provenance="MME-RealWorld of its authors (CC BY-NC-SA 4.0), as VLMEvalKit's TSV",
    data=Published(
        {"edition": ("en", "cn", "lite")},
        {
            ("en",): _hub_or_file("MME-RealWorld.tsv", "fd341132362fc41e707cb37ee6e4dcda", f"{_HUB}-Lmms-eval"),
            ("cn",): _hub_or_file("MME-RealWorld-CN.tsv", "daaa763d52a760a38606d5dedb3fe444", f"{_HUB}-CN-Lmms-eval"),
            ("lite",): PublishedFile(
                "MME-RealWorld-Lite.tsv", RemoteFile(urls=(_LITE,), md5="4c17057d7d3b6c4a0d4397c3dae0881c")
            ),
        },
    ),
    aliases={
        "MME-RealWorld-CN": {"edition": "cn"},
        "MME-RealWorld-Lite": {"edition": "lite"},
        "mmerealworld": {"edition": "en"},
        "mmerealworld_cn": {"edition": "cn"},
        "mmerealworld_lite": {"edition": "lite"},
    },
    group_by=("category", "l2-category"),
    adjust=_adjust,
    template=_TEMPLATE,
    max_new_tokens=128,
    scoring=choices(official=ParserSet(parse_mme_realworld), vlmevalkit=ParserSet(vlmevalkit_own.parse_mme_realworld)),
)

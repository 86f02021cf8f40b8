"""MMMU-Pro: MMMU's questions that need the image, with ten options, four, or all in a picture
(Yue et al. 2024, https://arxiv.org/abs/2409.02813).

One example row: id "test_History_1", question "<image 1> This print was likely ...", A "...", ...,
J "...", answer "C", category "History", image <list of base64>; under `setting=vision` a row has
one picture, a screenshot or photograph of question and options, and neither as text.

Oddities: 1730 questions in each setting, no split, all answers public. The paper's score is the
mean of `10` and `vision`, two runs here. Options that stand in a picture are not written into
the prompt; where the data do not hold them either, any letter may be chosen.

Published numbers are made with the authors' own parse, `evaluate.py` of MMMU-Pro, which is `--rule
official`: what stands behind the last "Answer:", else the steps of MMMU, else a random option
(here by a seed of the reply). Our default reads choices as all benchmarks do, and never draws.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import HubSplit, Published, published_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, ParserSet
from snellen.core.benchmark import Variant, requires
from snellen.core.sample import Row, Sample
from snellen.extract.published.mmmu import parse_mmmu_pro_or_draw
from snellen.extract.published.vlmevalkit_own import parse_after_answer
from snellen.prompts.choice import PromptTemplate

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_LETTER_INSTRUCTION = "Answer with the option letter from the given choices directly."
_IMAGE_INSTRUCTION = "Answer the following multiple-choice question in the image."
_OPTIONS = 10
_OFFICIAL = ParserSet(parse_mmmu_pro_or_draw)
_TEMPLATE = PromptTemplate(question="{question}", options="", choose=_LETTER_INSTRUCTION)
_VLMEVALKIT_COT = PARSERS[VLMEVALKIT]._replace(choice=parse_after_answer)


def _for_setting(declaration: Declaration, variant: Variant) -> Declaration:
    """VLMEvalKit's rule for replies that think first, and the setting with options in the image.

    In the image the order of the options is fixed: options that the data hold as well help to parse
    replies, unless they would be rotated or shuffled.
    """
    if variant.options.get("cot") == "on":
        scoring = choices(official=_OFFICIAL, vlmevalkit=_VLMEVALKIT_COT)
        declaration = replace(declaration, scoring=scoring)
    if variant.options.get("setting") != "vision":
        return declaration
    moved = variant.circular not in (None, "off") or (variant.control or "").startswith("shuffled-options")
    return replace(
        declaration,
        requires=requires("text", "image"),
        template=replace(_TEMPLATE, listed=False),
        adjust_row=_ask_about_image,
        adjust=_drop_options if moved else None,
        chance=100 / _OPTIONS,
    )


def _ask_about_image(row: Row) -> Row:
    question = f"{_IMAGE_INSTRUCTION} {_LETTER_INSTRUCTION}"
    return structs.replace(row, cells={**row.cells, "question": question})


def _drop_options(sample: Sample, row: Row) -> Sample:
    return structs.replace(sample, options={})


BENCHMARK = Declaration(
    name="mmmu-pro",
    version="4",
    title="MMMU-Pro, college exams that need the image",
    paper="https://arxiv.org/abs/2409.02813",
    provenance="MMMU-Pro of its authors (Apache-2.0, MMMU/MMMU_Pro on the hub), VLMEvalKit's TSV",
    data=Published(
        {"setting": ("10", "4", "vision")},
        {
            ("10",): published_tsv(f"{_HOME}/MMMU_Pro_10c.tsv", "22cee868fe6b680d14b99bfff6db8172"),
            ("4",): HubSplit("hf://MMMU/MMMU_Pro?config=standard (4 options)&split=test"),
            ("vision",): published_tsv(f"{_HOME}/MMMU_Pro_V.tsv", "d01441a87b3dbe721b5a04652ae38009"),
        },
    ),
    aliases={
        "MMMU_Pro_10c": {"setting": "10"},
        "MMMU_Pro_V": {"setting": "vision"},
        "mmmu_pro_standard": {"setting": "10"},
        "mmmu_pro_vision": {"setting": "vision"},
        "MMMU_Pro_10c_COT": {"setting": "10", "cot": "on"},
        "MMMU_Pro_V_COT": {"setting": "vision", "cot": "on"},
        "mmmu_pro_standard_cot": {"setting": "10", "cot": "on"},
        "mmmu_pro_vision_cot": {"setting": "vision", "cot": "on"},
    },
    group_by=("category", "subject", "topic_difficulty", "l2-category"),
    kind="choice",
    max_new_tokens=1024,
    requires=requires("text", "image"),
    scoring=choices(official=_OFFICIAL),
    template=_TEMPLATE,
    for_variant=_for_setting,
)

"""MMBench: multiple choice under CircularEval (Liu et al. 2023, https://arxiv.org/abs/2307.06281).

One example row: index 241, question "Identify the question that ... can best answer.", hint "The
passage below describes an experiment. ...", A "Does Madelyn's snowboard slide down ...", B "...",
answer "B", category "identity_reasoning", l2-category "attribute_reasoning", split "dev",
image <base64>.

The Korean dev split of version 1.0 is NCSOFT's translation (K-MMBench).

Oddities: the file holds every rotation as a row of its own, rotation r of question i as index
i + r * 1,000,000, its image cell naming the base row; questions have 2 to 4 options and as many
rotations. Answers of the test split are withheld: a run asks all rotations and has no score.

Our rule is the paper's: right only if every rotation is right, a reply nobody can read is wrong,
overall is the mean over questions. VLMEvalKit draws a random option when its judge fails; we do
not.
"""

from __future__ import annotations

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published, PublishedFile, published_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.sample import Row, Sample
from snellen.extract.published.official import parse_mmbench

_HOME = "https://opencompass.openxlab.space/utils/benchmarks/MMBench"
_KOREAN_HOME = "https://huggingface.co/datasets/NCSOFT/K-MMBench/resolve/main"
_MD5 = {
    ("dev", "en", "1.0"): "b6caf1133a01c6bb705cf753bb527ed8",
    ("test", "en", "1.0"): "6939fadb0ce626fefc0bdc9c64efc528",
    ("dev", "cn", "1.0"): "08b8fc3324a5ed74155350f57be69fbd",
    ("test", "cn", "1.0"): "7e1239baf0ee4c8b513e19705a0f317e",
    ("dev", "ko", "1.0"): "72e1cde9124b5015be6d0dd5c9b5500d",
    ("dev", "en", "1.1"): "30c05be8f2f347a50be25aa067248184",
    ("test", "en", "1.1"): "8d1a704e791df6f5d9fb3ef782b65365",
    ("dev", "cn", "1.1"): "593f9b5f6bea453d870a798b34ae4f37",
    ("test", "cn", "1.1"): "156e6569f9547afb16603eca16e85373",
}


def _published_file(split: str, lang: str, version: str) -> PublishedFile:
    edition = "" if version == "1.0" else "_V11"
    name = f"MMBench_{split.upper()}_{lang.upper()}{edition}.tsv"
    home = _KOREAN_HOME if lang == "ko" else _HOME
    return published_tsv(f"{home}/{name}", _MD5[split, lang, version])


LEVEL_1 = {
    "coarse_perception": "perception",
    "finegrained_perception (instance-level)": "perception",
    "finegrained_perception (cross-instance)": "perception",
    "attribute_reasoning": "reasoning",
    "relation_reasoning": "reasoning",
    "logic_reasoning": "reasoning",
}
"""The first of the three levels of abilities (Fig. 2 of the paper); the file holds the others."""


def _add_first_level(sample: Sample, row: Row) -> Sample:
    top = LEVEL_1.get(sample.groups.get("l2-category", ""))
    return structs.replace(sample, groups={"l1-category": top, **sample.groups}) if top else sample


BENCHMARK = Declaration(
    name="mmbench",
    version="4",
    title="MMBench, 20 abilities under CircularEval",
    paper="https://arxiv.org/abs/2307.06281",
    provenance="MMBench (Apache-2.0), the TSV files its authors publish",
    data=Published(
        {"split": ("dev", "test"), "lang": ("en", "cn", "ko"), "version": ("1.0", "1.1")},
        {key: _published_file(*key) for key in _MD5},
        held_out={"test": "dev"},
    ),
    aliases={
        "MMBench_DEV_EN": {"split": "dev", "lang": "en", "version": "1.0"},
        "MMBench_TEST_EN": {"split": "test", "lang": "en", "version": "1.0"},
        "MMBench_DEV_CN": {"split": "dev", "lang": "cn", "version": "1.0"},
        "MMBench_TEST_CN": {"split": "test", "lang": "cn", "version": "1.0"},
        "MMBench_DEV_KO": {"split": "dev", "lang": "ko", "version": "1.0"},
        "MMBench_DEV_EN_V11": {"split": "dev", "lang": "en", "version": "1.1"},
        "MMBench_TEST_EN_V11": {"split": "test", "lang": "en", "version": "1.1"},
        "MMBench_DEV_CN_V11": {"split": "dev", "lang": "cn", "version": "1.1"},
        "MMBench_TEST_CN_V11": {"split": "test", "lang": "cn", "version": "1.1"},
        "MMBench_CN": {"lang": "cn", "version": "1.0"},
        "MMBench_V11": {"lang": "en", "version": "1.1"},
        "MMBench_CN_V11": {"lang": "cn", "version": "1.1"},
        "mmbench_en_dev": {"split": "dev", "lang": "en"},
        "mmbench_en_test": {"split": "test", "lang": "en"},
        "mmbench_cn_dev": {"split": "dev", "lang": "cn"},
        "mmbench_cn_test": {"split": "test", "lang": "cn"},
    },
    other_tools={"mmbench": OtherToolName("lmms-eval", "is a group of splits and languages")},
    paper_prompt="paper-mmbench",
    scoring=choices(official=ParserSet(parse_mmbench), circular="early"),
    adjust=_add_first_level,
    hidden_answers=("test",),
)

"""CCBench: Chinese culture, multiple choice under CircularEval (MMBench Sec. 5 and Appendix).

One example row: index 5, question "...", A "...", B "...", C "...", D "...", answer "C",
category "calligraphy_painting", image <base64>; four options each, rotations as rows of their own
(see `mmbench`).

Oddities: no split and no l2-category column; the answers are public.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.protocol.flows import parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.extract.published.official import parse_mmbench

VERSION = "3"
ALIASES: dict[str, dict[str, str]] = {"mmbench_cc_test": {}}
_URL = "https://opencompass.openxlab.space/utils/VLMEval/CCBench.tsv"
DATA = Published({}, {(): published_tsv(_URL, "f5dde47f24dc5a6fb6e595b409b466ac")})


def benchmark(variant: Variant) -> Benchmark:
    return question_benchmark(
        variant,
        name="ccbench",
        version=VERSION,
        title="CCBench, Chinese culture under CircularEval",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options=DATA.options,
        requires=requires("text", "image"),
        circular_default="early",
        official=ParserSet(parse_mmbench, parse_yes_no_by_words),
        paper="https://arxiv.org/abs/2307.06281",
        source="CCBench of the MMBench authors (Apache-2.0)",
    )

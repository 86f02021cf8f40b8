"""MMStar: 1500 multiple-choice questions that cannot be answered without the image
(Chen et al. 2024, https://arxiv.org/abs/2403.20330).

One example row: index 0, question "Which option describe the object relationship in the image
correctly?", A "The suitcase is on the book.", B "The suitcase is beneath the cat.", C "...",
D "...", answer "A", category "coarse perception", l2_category "image scene and topic",
image <base64>.

Oddities: `l2_category` is the finer level here, not the coarser. The authors' copy writes the
options into the question. The paper's multi-modal gain and leakage compare runs of the same model
with and without pictures: `--control blind` makes the second. Our rule is accuracy by question, as
VLMEvalKit's. The authors' script looks at the opening letter alone (`--rule official`), so that
"Because" is B.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.protocol.flows import parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.extract.published.official import parse_mmstar

VERSION = "3"
_URL = "https://opencompass.openxlab.space/utils/VLMEval/MMStar.tsv"
DATA = Published({}, {(): published_tsv(_URL, "e1ecd2140806c1b1bbf54b43372efb9e")})


def benchmark(variant: Variant) -> Benchmark:
    return question_benchmark(
        variant,
        name="mmstar",
        version=VERSION,
        title="MMStar, questions that need the image",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        requires=requires("text", "image"),
        groups=("category", "l2-category", "l2_category"),
        official=ParserSet(parse_mmstar, parse_yes_no_by_words),
        paper="https://arxiv.org/abs/2403.20330",
        source="MMStar of its authors (Lin-Chen/MMStar on the hub), as VLMEvalKit's TSV",
    )

"""A-OKVQA, multiple choice: questions that need knowledge of the world (Schwenk et al. 2022,
https://arxiv.org/abs/2206.01718).

One example row: index 0, question "What is the man by the bags awaiting?", A "skateboarder",
B "train", C "delivery", D "cab", answer "D", image <base64>.

Oddities: the data set also has ten direct answers a question, which are another task and not asked
here. No checksum is published for the TSV.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.published import Published, PublishedFile
from snellen.benchmarks.questions import question_benchmark
from snellen.core.benchmark import Benchmark, Variant, needs
from snellen.data.download import Remote

VERSION = "1"
_URL = "https://huggingface.co/datasets/Allen8/A-OKVQA/resolve/main/a-okvqa.tsv"
DATA = Published({}, {(): PublishedFile("A-OKVQA.tsv", Remote(urls=(_URL,)))})


def benchmark(variant: Variant) -> Benchmark:
    return question_benchmark(
        variant,
        name="a-okvqa",
        version=VERSION,
        title="A-OKVQA, questions that need knowledge of the world",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        needs=needs("text", "image"),
        paper="https://arxiv.org/abs/2206.01718",
        source="A-OKVQA (Apache-2.0) over COCO images, as VLMEvalKit's TSV",
    )

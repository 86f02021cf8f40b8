"""AesBench: multiple choice about the aesthetics of images (Huang et al. 2024,
https://arxiv.org/abs/2401.08276).

One example row: index 0, question "What kind of composition is used in this image?", A "Central",
B "Diagonal", C "Symmetrical", answer "A", category "AesP", image <base64>.

Oddities: `val` is a small set for trial; the paper's numbers are of `test`, more than 20 times as
large, whose answers its authors keep. Only the multiple-choice part is here.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.published import Published, hide_answers, published_tsv
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.core.benchmark import Benchmark, Variant, requires

VERSION = "3"
ALIASES = {"AesBench_VAL": {"split": "val"}, "AesBench_TEST": {"split": "test"}}
_HOME = "https://huggingface.co/datasets/VLMEval/AesBench/resolve/main"
DATA = Published(
    {"split": ("val", "test")},
    {
        ("val",): published_tsv(f"{_HOME}/AesBench_VAL.tsv", "3edb0c319e9187aa0b97fe7a11700a8c"),
        ("test",): published_tsv(f"{_HOME}/AesBench_TEST.tsv", "58b1f7ba2cc32e1d68896d6ee716bbf8"),
    },
    held_out={"test": "val"},
)


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="aesbench",
        version=VERSION,
        title="AesBench, aesthetics of images",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options=DATA.options,
        requires=requires("text", "image"),
        paper="https://arxiv.org/abs/2401.08276",
        source="AesBench of its authors, as VLMEvalKit's TSV",
        held_out=DATA.few_shot_source(variant),
    )
    return hide_answers(asked, variant, "split", "test")

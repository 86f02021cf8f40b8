"""Q-Bench, perception: multiple choice about low-level vision (Wu et al. 2023,
https://arxiv.org/abs/2309.14181).

One example row: index 0, question "How is the lighting of this building?", A "High", B "Low",
C "Medium", answer "A", category "0,0", image <base64>.

Oddities: of the three tasks of the paper only perception (A1) is multiple choice and here. Answers
of `test` are kept by the authors. Many questions have the options Yes and No; they are choices all
the same.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.published import Published, hide_answers, published_tsv
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.core.benchmark import Benchmark, Variant, requires

VERSION = "3"
ALIASES = {
    "Q-Bench1_VAL": {"split": "val"},
    "Q-Bench1_TEST": {"split": "test"},
    "qbench_dev": {"split": "val"},
}
_HOME = "https://huggingface.co/datasets/zhangzicheng/qbench_tsv/resolve/main"
DATA = Published(
    {"split": ("val", "test")},
    {
        ("val",): published_tsv(f"{_HOME}/Q-Bench1_VAL.tsv", "837bdb6cd2da571713543462815187b7"),
        ("test",): published_tsv(f"{_HOME}/Q-Bench1_TEST.tsv", "15e759bfd58c9d5f30b23a317d347153"),
    },
    held_out={"test": "val"},
)


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="q-bench",
        version=VERSION,
        title="Q-Bench, low-level perception",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options=DATA.options,
        requires=requires("text", "image"),
        paper="https://arxiv.org/abs/2309.14181",
        source="Q-Bench of its authors (q-future/Q-Bench-HF on the hub), as their TSV",
        held_out=DATA.few_shot_source(variant),
    )
    return hide_answers(asked, variant, "split", "test")

"""A-Bench: multiple choice about generated images (Zhang et al. 2024,
https://arxiv.org/abs/2406.03070).

One example row: index 0, question "Is there any object in the picture that is not consistent with
the laws of nature?", A "Yes", B "No", answer "A", category "part2 -> Technical Quality",
image <base64>.

Oddities: answers of `test` are kept by the authors; 2864 pictures of 16 generators in all.
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.published import Published, PublishedFile, hide_answers
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.data.download import RemoteFile

VERSION = "3"
ALIASES = {
    "A-Bench_VAL": {"split": "val"},
    "A-Bench_TEST": {"split": "test"},
    "abench_dev": {"split": "val"},
}
_HOME = "https://huggingface.co/datasets/zhangzicheng/abench_tsv/resolve/main"


def _published_file(split: str, md5: str) -> PublishedFile:
    remote = RemoteFile(urls=(f"{_HOME}/A-bench_{split}.tsv",), md5=md5)
    return PublishedFile(f"A-Bench_{split}.tsv", remote)


DATA = Published(
    {"split": ("val", "test")},
    {
        ("val",): _published_file("VAL", "218563ec50d34bb336c814143a5bb9c1"),
        ("test",): _published_file("TEST", "567013fb033a20cf23f51d8e865bd16c"),
    },
    held_out={"test": "val"},
)


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="a-bench",
        version=VERSION,
        title="A-Bench, generated images",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options=DATA.options,
        requires=requires("text", "image"),
        paper="https://arxiv.org/abs/2406.03070",
        source="A-Bench of its authors (q-future/A-Bench-HF on the hub), as their TSV",
        held_out=DATA.few_shot_source(variant),
    )
    return hide_answers(asked, variant, "split", "test")

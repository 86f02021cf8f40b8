"""MMT-Bench: 31,325 multiple-choice questions in 162 subtasks of 32 meta-tasks
(Ying et al. 2024, https://arxiv.org/abs/2404.16006).

One example row: index 3, question "Please retrieve the most similar person to the query in the
candidates.", A "Candidate 1", B "Candidate 2", C "Candidate 3", D "Candidate 4", answer "B",
category "person_reid", l2-category "image_retrieval", split "VAL", image <base64>.

Oddities: 2 to 9 options; two editions of the same questions, one with the several images of a
question side by side in one picture (`images=single`), one with the images apart ("_MI"); some
names are misspelt in the files; answers of the ALL split are not in its file, so that a run of it
has no score: `snellen export RUN --to mmt-submission` writes the file for the authors' server
(they have since released the answers as a TSV of its own, which `--data` takes). Boxes that
questions speak of are already drawn into the published pictures.

Our rule is the paper's: labels are looked for first, then the options' contents, then (with
`--extractor`) a language model is asked; what nobody can read is Z, which is wrong. VLMEvalKit
draws a random option when its judge fails; we do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec

from snellen.benchmarks.declaration.published import (
    Published,
    PublishedFile,
    hide_answers,
    published_tsv,
)
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.mmt_bench.prompts import (
    IMAGES,
    OPTIONS,
    MMTPromptVariant,
    check_variant,
    prepare_sample,
    prompt_notices,
    single_image_reason,
    variant_samples,
)
from snellen.benchmarks.mmt_bench.steps import add_step_rates
from snellen.benchmarks.mmt_bench.summary import OVERALL, overall_sums, summarise_mmt
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.core.record import Record
from snellen.core.summary import Summary

VERSION = "3"
ALIASES = {
    "MMT-Bench_VAL": {"split": "val", "images": "single"},
    "MMT-Bench_ALL": {"split": "all", "images": "single"},
    "MMT-Bench_VAL_MI": {"split": "val", "images": "native"},
    "MMT-Bench_ALL_MI": {"split": "all", "images": "native"},
    "MMT-Bench_MI": {"images": "native"},
    "mmt_val": {"split": "val", "images": "single"},
    "mmt_test": {"split": "all", "images": "single"},
    "mmt_mi_val": {"split": "val", "images": "native"},
    "mmt_mi_test": {"split": "all", "images": "native"},
}
_HOME = "https://opencompass.openxlab.space/utils/benchmarks/MMT-Bench"


def _published_file(name: str, md5: str) -> PublishedFile:
    return published_tsv(f"{_HOME}/{name}.tsv", md5)


_SINGLE_IMAGE = {
    "val": _published_file("MMT-Bench_VAL", "8dd4b730f53dbf9c3aed90ca31c928e0"),
    "all": _published_file("MMT-Bench_ALL", "b273a2f4c596fe4f2605de0494cd632f"),
}
_MULTI_IMAGE = {
    "val": _published_file("MMT-Bench_VAL_MI", "c7d7b998eb5cd9aa36c7d4f721472462"),
    "all": _published_file("MMT-Bench_ALL_MI", "5272157097e19cdd7cb41e412ab3b7c7"),
}
DATA = Published(
    {"split": ("val", "all"), "images": IMAGES},
    {
        (split, images): (_SINGLE_IMAGE if images == "single" else _MULTI_IMAGE)[split]
        for split in ("val", "all")
        for images in IMAGES
    },
    held_out={"all": "val"},
)


def benchmark(variant: Variant) -> Benchmark:
    plain = question_benchmark(
        variant,
        name="mmt-bench",
        version=VERSION,
        title="MMT-Bench, 162 subtasks of multimodal understanding",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options={**DATA.options, **OPTIONS},
        paper_prompt="paper-mmt",
        requires=requires("text", "image"),
        paper="https://arxiv.org/abs/2404.16006",
        source="MMT-Bench, the TSV files its authors publish (licences of its sources apply)",
        held_out=DATA.few_shot_source(variant),
    )
    chosen = {**{name: values[0] for name, values in OPTIONS.items()}, **variant.options}
    prompt_variant = MMTPromptVariant(**{name: chosen[name] for name in OPTIONS})
    check_variant(prompt_variant, variant.options.get("shots", "0"))
    failures = failures_of(variant)

    def summarise(records: Sequence[Record]) -> Summary:
        found = summarise_mmt(records, failures=failures)
        told = (*found.notices, *prompt_notices(records, prompt_variant))
        return msgspec.structs.replace(found, notices=told)

    built = replace(
        plain,
        headline=OVERALL,
        samples=partial(variant_samples, prompt_variant=prompt_variant),
        prepare=partial(prepare_sample, prompt_variant=prompt_variant),
        unsupported_reason=single_image_reason if prompt_variant.images == "native" else None,
        flow=add_step_rates(plain.flow, extractor=variant.extractor),
        summarise=summarise,
        headline_sums=partial(overall_sums, failures),
        weighs_scores=True,
    )
    return hide_answers(built, variant, "split", "all")

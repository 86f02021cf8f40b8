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

Success rate of each step that reads a reply (MMT-Bench Sec. 4.1, Table A16), as values of the
records, because passes are not looked at when a run is summed up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from snellen.benchmarks.abilities.mmt_bench.prompts import (
    IMAGES,
    OPTIONS,
    MMTPromptVariant,
    check_variant,
    prepare_sample,
    prompt_notices,
    single_image_reason,
    variant_samples,
)
from snellen.benchmarks.abilities.mmt_bench.summary import MICRO, OVERALL, overall_sums, summarise_mmt
from snellen.benchmarks.declaration.declaration import Declaration, Headline, ResolvedVariant
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.parsers import VLMEVALKIT
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Failure, Generated, Refused
from snellen.core.record import Flow, Record
from snellen.core.sample import Sample
from snellen.core.summary import Summary, SummaryContext
from snellen.extract.steps import STEPS, step_of

RATES = ("step_1_label", "step_2_content", "step_3_llm")
"""Share of replies read after each step, so that each rate includes those before it; the third
stands only where an LLM extractor was there to be asked."""
REFUSED = "refused"


def add_step_rates(flow: Callable[[Sample], Flow], *, extractor: bool) -> Callable[[Sample], Flow]:
    """The same flow, its records telling which step read the first pass's reply."""

    def flow_with_rates(sample: Sample) -> Flow:
        record = yield from flow(sample)
        values = record.values | dict(_step_rates(record, extractor=extractor))
        return msgspec.structs.replace(record, values=values)

    return flow_with_rates


def _step_rates(record: Record, *, extractor: bool) -> Iterator[tuple[str, float]]:
    first = record.passes[0]
    if record.kind != "choice" or not isinstance(first.output, Generated):
        return
    if isinstance(first.extraction, Failure):
        return
    step = step_of(first.answer, by_llm=first.extraction is not None)
    reached = len(STEPS) if step is None else STEPS.index(step)
    for position, name in enumerate(RATES[: 3 if extractor else 2]):
        yield name, float(reached <= position)
    yield REFUSED, float(isinstance(first.answer, Refused))


_HOME = "https://opencompass.openxlab.space/utils/benchmarks/MMT-Bench"


_SINGLE_IMAGE = {
    "val": published_tsv(f"{_HOME}/MMT-Bench_VAL.tsv", "8dd4b730f53dbf9c3aed90ca31c928e0"),
    "all": published_tsv(f"{_HOME}/MMT-Bench_ALL.tsv", "b273a2f4c596fe4f2605de0494cd632f"),
}
_MULTI_IMAGE = {
    "val": published_tsv(f"{_HOME}/MMT-Bench_VAL_MI.tsv", "c7d7b998eb5cd9aa36c7d4f721472462"),
    "all": published_tsv(f"{_HOME}/MMT-Bench_ALL_MI.tsv", "5272157097e19cdd7cb41e412ab3b7c7"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScoring(RuleScoring):
    """As other choices, with the success rate of each step that parses a reply."""

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        scored = RuleScoring.score(self, plain, resolved)
        return replace(scored, flow=add_step_rates(scored.flow, extractor=resolved.variant.extractor))


def _for_prompt(declaration: Declaration, variant: Variant) -> Declaration:
    """The samples and what is shown of them under the chosen prompt study. Raises UsageError for
    choices that do not go together."""
    chosen = {name: variant.options.get(name, values[0]) for name, values in OPTIONS.items()}
    prompt_variant = MMTPromptVariant(**chosen)
    check_variant(prompt_variant, variant.options.get("shots", "0"))
    return replace(
        declaration,
        samples=partial(variant_samples, prompt_variant=prompt_variant),
        prepare=partial(prepare_sample, prompt_variant=prompt_variant),
        unsupported_reason=single_image_reason if prompt_variant.images == "native" else None,
        headline=replace(declaration.headline, summarise=partial(_summarise, prompt_variant)),
    )


def _summarise(prompt_variant: MMTPromptVariant, context: SummaryContext, records: Sequence[Record]) -> Summary:
    summary = summarise_mmt(records, failures=context.failures)
    notices = (*summary.notices, *prompt_notices(records, prompt_variant))
    return msgspec.structs.replace(summary, notices=notices)


BENCHMARK = Declaration(
    name="mmt-bench",
    version="5",
    title="MMT-Bench, 162 subtasks of multimodal understanding",
    paper="https://arxiv.org/abs/2404.16006",
    provenance="MMT-Bench, the TSV files its authors publish (licences of its sources apply)",
    data=Published(
        {"split": ("val", "all"), "images": IMAGES},
        {
            (split, images): (_SINGLE_IMAGE if images == "single" else _MULTI_IMAGE)[split]
            for split in ("val", "all")
            for images in IMAGES
        },
        held_out={"all": "val"},
    ),
    aliases={
        "MMT-Bench_VAL": {"split": "val", "images": "single"},
        "MMT-Bench_ALL": {"split": "all", "images": "single"},
        "MMT-Bench_VAL_MI": {"split": "val", "images": "native"},
        "MMT-Bench_ALL_MI": {"split": "all", "images": "native"},
        "MMT-Bench_MI": {"images": "native"},
        "mmt_val": {"split": "val", "images": "single"},
        "mmt_test": {"split": "all", "images": "single"},
        "mmt_mi_val": {"split": "val", "images": "native"},
        "mmt_mi_test": {"split": "all", "images": "native"},
    },
    options=OPTIONS,
    for_variant=_for_prompt,
    paper_prompt="paper-mmt",
    scoring=StepScoring(),
    headline=Headline(name=OVERALL, sums=overall_sums, weighs_scores=True),
    rule_headlines={VLMEVALKIT: Headline(name=MICRO)},
    hidden_answers=("all",),
)

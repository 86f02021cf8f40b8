"""ChartMimic: a picture of a chart to the matplotlib program that draws it (Yang et al. 2024,
https://arxiv.org/abs/2406.09961).

One example row: index 0, task "Direct Mimic", question "You are an expert Python developer ...
figsize=(6, 4) ...", input_figure "v2/direct_600/line_1.png", ground_truth_figure_code
"v2/direct_600/line_1.py".

Oddities: pictures and programs are files of the authors' archives, which the table names. Replies
are programs, and their scores come from running them, which happens with `run_code=yes` alone:
see docs/generated-code.md for what then protects the machine. Only a block fenced as Python
counts, the first one, and only up to where it first saves or shows its figure; a program that
does so inside of a function which is called afterwards draws nothing. The instruction of the
customised task holds data, which the reference's program defines for the reply.

Low-level scores are F1 of texts, layout, chart types and colours of the two charts, recorded while
both programs run; their mean is `low_level`. A judge compares the pictures, 0 to 100
(`high_level`). The headline `overall` is the mean of both; without a judge it is `low_level`. A
reply without a program, or whose program fails, has 0 in all; `executed` is the share of the
others. The authors draw a program's picture as PDF and convert it; here it is drawn as PNG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, ResolvedVariant
from snellen.benchmarks.declaration.judged import Judged
from snellen.benchmarks.declaration.published import Published, PublishedFile, published_tsv
from snellen.benchmarks.documents.chartmimic.flow import (
    EXECUTED,
    HIGH_LEVEL,
    LOW_LEVEL,
    OVERALL,
    PARTS,
    RUBRIC,
    RUN_CODE,
    UNPROTECTED,
    VERSION,
    build_flow,
)
from snellen.benchmarks.documents.chartmimic.references import chartmimic_samples
from snellen.benchmarks.protocol.judged_summary import summarise_judged
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, Summary
from snellen.generated_code.model import PROGRAM, program_model
from snellen.generated_code.runner import check_programs_can_run
from snellen.scoring.accuracy import summarise

NOT_RUN = (
    "is scored by running the programs that the model wrote, which happens only if you say so: "
    "replies are collected, and scored once the same command is given with chartmimic:run_code=yes"
)
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_MD5 = {
    ("2", "direct", "all"): "1c8b444bd681f808f77f06037866eb19",
    ("2", "direct", "600"): "3d8d8afecccb6e8feacbcec6834f45f5",
    ("2", "direct", "1800"): "340331019c7eaa56cc02080656b66c3c",
    ("2", "customized", "all"): "390e715dbdfbad3ff788fffa91945405",
    ("2", "customized", "600"): "79907e8f9edc5e0eccbbcfc9cbe8a235",
    ("2", "customized", "1800"): "a6cf57807c07d328689872a77c9f847a",
    ("1", "direct", "all"): "d0fb410970cab0c666bbacf7d9f0cfb3",
    ("1", "customized", "all"): "d636eca077e75e39fd2600889bf0284e",
}
"""Checksums of VLMEvalKit's tables, by version, task and part."""


def _table_name(version: str, task: str, part: str) -> str:
    return f"ChartMimic_v{version}_{task}" + ("" if part == "all" else f"_{part}")


def _file(version: str, task: str, part: str) -> PublishedFile:
    name = _table_name(version, task, part)
    return published_tsv(f"{_HOME}/{name}.tsv", _MD5[version, task, part])


class ProgramScoring(Judged):
    """Judged replies whose programs run, if the option says so."""

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        scored = Judged.score(self, plain, resolved)
        judges = scored.extra_roles
        headline = OVERALL if judges else LOW_LEVEL
        may_run = resolved.options[RUN_CODE] != "no"
        program = partial(program_model, resolved.options[RUN_CODE] == UNPROTECTED)
        charts = partial(summarise_charts, headline, judges, resolved.failures)
        return replace(
            scored,
            headline=headline,
            summarise=charts if may_run else summarise_collected,
            own_roles={PROGRAM: program} if may_run else {},
            unscorable="" if may_run else NOT_RUN,
        )


def summarise_charts(
    headline: str, judges: Sequence[str], failures: FailurePolicy, records: Sequence[Record]
) -> Summary:
    """The headline, and what it is made of beside it."""
    summary = summarise_judged(records, headline=headline, judges=judges, failures=failures)
    names = (EXECUTED, *PARTS, LOW_LEVEL, HIGH_LEVEL)
    beside = [name for name in names if name in summary.metrics and name != headline]
    return structs.replace(summary, beside=(*beside, *summary.beside))


def summarise_collected(records: Sequence[Record]) -> Summary:
    """Replies whose programs did not run: they have no score, for the benchmark's own reason."""
    summary = summarise(records, headline=LOW_LEVEL)
    left_out = [notice for notice in summary.notices if "no gold answer" not in notice]
    return structs.replace(summary, notices=tuple(left_out), no_gold=0)


def _check_if_run(declaration: Declaration, variant: Variant) -> Declaration:
    """A run that needs to run programs says at once where that is impossible."""
    option = variant.options.get(RUN_CODE, "no")
    if option == "no":
        return declaration
    what = f"chartmimic:run_code={option}"
    return replace(declaration, check=partial(check_programs_can_run, what))


BENCHMARK = Declaration(
    name="chartmimic",
    version=VERSION,
    title="ChartMimic, charts to the programs that draw them",
    paper="https://arxiv.org/abs/2406.09961",
    provenance="ChartMimic of its authors (Apache-2.0), as VLMEvalKit's TSV",
    data=Published(
        {"version": ("2", "1"), "task": ("direct", "customized"), "part": ("all", "600", "1800")},
        {values: _file(*values) for values in _MD5},
    ),
    aliases={_table_name(*values): dict(zip(("version", "task", "part"), values, strict=True)) for values in _MD5},
    options={RUN_CODE: ("no", "yes", UNPROTECTED)},
    for_variant=_check_if_run,
    samples=chartmimic_samples,
    max_new_tokens=4096,
    scoring=ProgramScoring(flow=build_flow, rubrics=(RUBRIC,), max_judge_tokens=1024),
)

"""HallusionBench: yes/no questions about figures and changed figures (Guan et al. 2023,
https://arxiv.org/abs/2310.14566).

One example row: index "0_VD_illusion_0_1_0", question "Is the right orange circle larger than the
left orange circle?", answer "No", category "VD", l2-category "illusion", image <base64>.

Oddities: the id holds set, figure and question: its fields 3, 4 and 5, counted from 0. aAcc is the
share of right answers; fAcc that of figures all of whose questions are right; qAcc that of
questions that are right about every figure. The headline is the mean of the three, as OpenVLM's
table has it. VLMEvalKit's file has the 951 questions with a figure; the authors' has 1129, of which
those without a figure belong to other groups, so that the numbers of the two files differ. The
authors let GPT-4 judge replies, which `--rule official` does with any judge (see
`hallusionbench_judge`); otherwise the reply must say yes or no.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.published import Published, tsv
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.hallusionbench.judge import (
    JUDGE_TOKENS,
    RUBRIC,
    graded_by_judge,
    with_details,
)
from snellen.benchmarks.protocol.judged_summary import NEEDS_JUDGE
from snellen.benchmarks.protocol.judging import judge_parameters, panel_of
from snellen.benchmarks.protocol.parsers import READERS
from snellen.core.benchmark import Benchmark, Variant, needs
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.prompts.choice import Wording
from snellen.scoring.accuracy import FailurePolicy, mean_metric
from snellen.scoring.grouped import all_right, bounds_of, under
from snellen.scoring.hallusionbench import (
    Place,
    figure_of,
    hallusion_scores,
    question_of,
)
from snellen.scoring.headlines import Share, interval_of, share_of_units, sum_of_ratios

VERSION = "3"
HEADLINE = "mean_of_three"
_PARTS = ("aAcc", "fAcc", "qAcc")
ALIASES: dict[str, dict[str, str]] = {"hallusion_bench_image": {}}
_URL = "https://opencompass.openxlab.space/utils/VLMEval/HallusionBench.tsv"
DATA = Published({}, {(): tsv(_URL, "0c23ac0dc9ef46832d7a24504f2a0c7c")})
_GOLDS = {"0": "No", "1": "Yes"}
_OFFICIAL = "official"
_WORDING = Wording(yes_no="")
_ID_COLUMNS = ("set_id", "figure_id", "question_id")


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="hallusionbench",
        version=VERSION,
        title="HallusionBench, figures and changed figures",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        needs=needs("text", "image"),
        groups=("category", "l2-category", "subcategory"),
        kind="yes_no",
        shape=_judged_shape if variant.rule == _OFFICIAL else _shaped,
        wording=_WORDING,
        official=READERS["snellen"],
        paper="https://arxiv.org/abs/2310.14566",
        source="HallusionBench of its authors (BSD-3-Clause), as VLMEvalKit's TSV",
    )
    failures = failures_of(variant)
    made = replace(
        asked,
        headline=HEADLINE,
        summarise=partial(_summed, asked, failures),
        headline_sums=partial(_sums, failures),
    )
    return _judged(made, variant) if variant.rule == _OFFICIAL else made


def _judged(made: Benchmark, variant: Variant) -> Benchmark:
    panel = panel_of(variant, max_new_tokens=JUDGE_TOKENS)
    settings = Generation(max_new_tokens=made.max_new_tokens)
    return replace(
        made,
        flow=graded_by_judge(settings, panel, _WORDING),
        asks=(*made.asks, *panel.roles),
        parameters={**made.parameters, **judge_parameters(panel, RUBRIC)},
        oracle=made.oracle if panel else None,
        unscorable="" if panel else NEEDS_JUDGE,
    )


def _judged_shape(sample: Sample, row: Row) -> Sample:
    return with_details(_shaped(sample, row), row)


def _shaped(sample: Sample, row: Row) -> Sample:
    """Gold as a word; the unit is the place `kind/set/figure/question`."""
    cells = row.cells
    golds = sample.gold or ((cells["gt_answer"],) if cells.get("gt_answer") else ())
    kind = cells.get("l2-category") or cells.get("subcategory", "")
    if all(name in cells for name in _ID_COLUMNS):
        fields = [cells[name] for name in _ID_COLUMNS]
        kind = f"{cells.get('category', '')}-{kind}"
    else:
        fields = sample.id.split("_")[3:6]
    place = "/".join((kind, *fields)) if len(fields) == len(_ID_COLUMNS) else f"?/{sample.id}/0/0"
    golds = tuple(_GOLDS.get(gold.strip(), gold) for gold in golds)
    return structs.replace(sample, gold=golds, unit=place)


def _summed(asked: Benchmark, failures: FailurePolicy, records: Sequence[Record]) -> Summary:
    summary = asked.summarise(records)
    seen = under(records, failures)
    found = hallusion_scores(seen, _place)
    if summary.headline.value is None or found is None:
        mean = Metric(HEADLINE, None, summary.n, note=summary.headline.note)
        return msgspec.structs.replace(summary, headline=mean)
    parts = {
        "aAcc": Metric("aAcc", found.answers, summary.n, summary.headline.interval),
        "fAcc": _of_units("fAcc", seen, figure_of),
        "qAcc": _of_units("qAcc", seen, question_of),
    }
    interval = interval_of(_sums(failures, records), records)
    mean = Metric(HEADLINE, found.mean, summary.n, interval)
    return msgspec.structs.replace(
        summary,
        headline=mean,
        metrics={HEADLINE: mean, **parts, **summary.metrics},
        bounds=bounds_of(records, _mean),
        beside=(*parts, *summary.beside),
    )


def _of_units(name: str, records: Sequence[Record], key: Callable[[Place], str]) -> Metric:
    """The share of figures, or of questions, that are right as a whole."""
    of_unit = partial(_named, key)
    right = all_right(records, of_unit)
    sets = {of_unit(record): _set(record) for record in records}
    return mean_metric(name, list(right.values()), [sets[unit] for unit in right])


def _sums(failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of three as a function of sums; a set of figures is drawn whole."""
    seen = under(records, failures)
    added = [[] if one.score is None else [Share("aAcc", one.score)] for one in seen]
    for name, key in (("fAcc", figure_of), ("qAcc", question_of)):
        of_unit = partial(_named, key)
        shares = share_of_units(seen, all_right(seen, of_unit), of_unit, name)
        added = [[*have, *more] for have, more in zip(added, shares, strict=True)]
    if len({share.ratio for shares in added for share in shares}) < len(_PARTS):
        return None
    return sum_of_ratios(added, links=[_set(one) for one in seen])


def _set(record: Record) -> str:
    """A name for the set of figures, which is drawn as a whole."""
    place = _place(record)
    return f"{place.kind}/{place.set}"


def _named(key: Callable[[Place], str], record: Record) -> str:
    return key(_place(record))


def _mean(records: Sequence[Record]) -> float | None:
    found = hallusion_scores(records, _place)
    return found.mean if found else None


def _place(record: Record) -> Place:
    kind, set_id, figure, question = record.unit.rsplit("/", 3)
    return Place(kind, set_id, figure, question)

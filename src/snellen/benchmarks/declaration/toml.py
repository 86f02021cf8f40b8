"""A benchmark of one's own described in a few lines of TOML, with no code.

    title = "Signs in the street"
    data = "signs.tsv"                  # beside this file; or hf://ORG/NAME?split=test
    kind = "open"                       # choice, yes_no or open; without it, told row by row
    metric = "anls"                     # of open answers, see METRICS
    groups = ["city"]
    columns = { question = "text", gold = "truth" }
    max_new_tokens = 32

    [prompt]
    open = "Answer with the words on the sign."

`judge = true` has open answers graded by the judges of a run, from 1 to 5, instead of by a metric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from snellen.benchmarks.declaration.data_file import data_file_benchmark
from snellen.benchmarks.declaration.judged import (
    JudgedDeclaration,
    judged_benchmark,
    plain_messages,
)
from snellen.benchmarks.declaration.open_questions import (
    against_gold,
    parse_marked_answer,
    parse_whole_reply,
)
from snellen.benchmarks.declaration.published import Published, absolute_path, with_origin
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, AdjustSample, rows_to_samples
from snellen.benchmarks.declaration.units import unit_column
from snellen.benchmarks.protocol.flows import (
    EQUALITY,
    Circular,
    GradeFunction,
    OpenParser,
    OpenScoring,
)
from snellen.benchmarks.protocol.judged_flows import JudgedScoring, judged_flow
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.parsers import PARSERS
from snellen.core.benchmark import REQUIRES_TEXT, Benchmark, Table, Variant
from snellen.core.errors import DataError, UnknownName
from snellen.core.flow import Flow
from snellen.core.origin import origin_of
from snellen.core.request import Generation
from snellen.core.sample import Kind, Sample
from snellen.data.columns import check_column_keys
from snellen.data.toml_files import read_toml
from snellen.extract.verdicts import parse_grade
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate
from snellen.scoring.edit_distance import anls
from snellen.scoring.exact import contains_gold, equal_folded
from snellen.scoring.relaxed import relaxed_correct
from snellen.scoring.vqa_accuracy import vqa_accuracy

VERSION = "3"
SUFFIX = ".toml"
DESCRIBED = "described"
"""Parameter of a run: digest of the description, which decides what is asked and counted."""
_RUBRIC = "similarity"
_BEST = 5.0


class OpenMetric(NamedTuple):
    grade: GradeFunction
    parse: OpenParser


METRICS: Mapping[str, OpenMetric] = {
    "accuracy": OpenMetric(EQUALITY.grade, EQUALITY.parse),
    "exact": OpenMetric(against_gold(equal_folded), parse_marked_answer),
    "contains": OpenMetric(against_gold(contains_gold), parse_whole_reply),
    "anls": OpenMetric(against_gold(anls), parse_marked_answer),
    "relaxed": OpenMetric(against_gold(relaxed_correct), parse_marked_answer),
    "vqa": OpenMetric(against_gold(vqa_accuracy), parse_marked_answer),
}
"""How open answers are graded: equal after small differences are taken away, equal but for case,
a gold contained in the reply, by edit distance, within 5 % of a number, against several people."""


class TemplateStrings(Struct, frozen=True, forbid_unknown_fields=True):
    """Fixed strings of the prompt, by the names of `PromptTemplate`; None keeps Snellen's own."""

    hint: str | None = None
    question: str | None = None
    options: str | None = None
    option: str | None = None
    choose: str | None = None
    yes_no: str | None = None
    open: str | None = None

    def fill_template(self, template: PromptTemplate) -> PromptTemplate:
        def choose(name: str) -> str:
            own: str | None = getattr(self, name)
            default: str = getattr(template, name)
            return default if own is None else own

        return replace(
            template,
            hint=choose("hint"),
            question=choose("question"),
            options=choose("options"),
            option=choose("option"),
            choose=choose("choose"),
            yes_no=choose("yes_no"),
            open=choose("open"),
        )


class BenchmarkDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """What the file may say; `data` alone is needed."""

    data: str
    title: str = ""
    name: str = ""
    kind: Kind | None = None
    metric: str = "accuracy"
    headline: str = ""
    """What the mean is called; the metric's name if empty."""
    groups: tuple[str, ...] = GROUP_COLUMNS
    columns: dict[str, str] = {}
    prompt: TemplateStrings = TemplateStrings()
    circular: Literal["off", "early", "full"] = "off"
    max_new_tokens: int = 512
    judge: bool = False
    paper: str = ""
    source: str = ""


def is_description(name: str) -> bool:
    return name.lower().endswith(SUFFIX)


def description_benchmark(path: str, variant: Variant) -> Benchmark:
    """The benchmark that a TOML file describes. Raises DataError, UnknownName."""
    description = _load_description(path)
    data = variant.data or _path_beside(description.data, path)
    variant = replace(variant, data=data, columns={**description.columns, **variant.columns})
    name = description.name or Path(path).stem
    benchmark = (_judged_benchmark if description.judge else _rule_benchmark)(
        description, name, data, variant
    )
    digest = hashlib.sha256(msgspec.json.encode(description, order="sorted")).hexdigest()[:12]
    return replace(
        benchmark,
        open=partial(_open_with_spec, benchmark.open, absolute_path(path)),
        parameters={**benchmark.parameters, DESCRIBED: digest},
    )


def _open_with_spec(open: Callable[[], Table], path: str) -> Table:
    """The table, which says by which description it was opened."""
    table = open()
    origin = origin_of(table)
    return table if origin is None else with_origin(table, structs.replace(origin, spec=path))


def _load_description(path: str) -> BenchmarkDescription:
    try:
        description = msgspec.convert(read_toml(path), BenchmarkDescription)
    except msgspec.ValidationError as error:
        known = ", ".join(BenchmarkDescription.__struct_fields__)
        raise DataError(f"{path}: {error}; a benchmark's description may have: {known}") from error
    if description.metric not in METRICS:
        raise UnknownName("metric", description.metric, METRICS)
    if description.judge and (description.prompt, description.metric, description.circular) != (
        TemplateStrings(),
        "accuracy",
        "off",
    ):
        raise DataError(
            f"{path}: a judge grades replies to the questions as they stand; with judge = true "
            "leave out prompt, metric and circular"
        )
    check_column_keys(description.columns)
    if description.judge and unit_column(description.columns):
        raise DataError(f"{path}: grades of a judge are not counted by units; leave out unit")
    return description


def _path_beside(data: str, path: str) -> str:
    return data if "://" in data else str(Path(path).expanduser().parent / data)


def _rule_benchmark(
    description: BenchmarkDescription, name: str, data: str, variant: Variant
) -> Benchmark:
    metric = METRICS[description.metric]
    rules = {
        rule: readers._replace(open=OpenScoring(metric.parse, metric.grade))
        for rule, readers in PARSERS.items()
    }
    circular: Circular = description.circular

    def build(
        variant: Variant,
        *,
        open: Callable[[], Table],
        template: PromptTemplate = DEFAULT_TEMPLATE,
        adjust: AdjustSample | None = None,
        **_: str,
    ) -> Benchmark:
        return question_benchmark(
            variant,
            name=name,
            version=VERSION,
            title=description.title or f"own data: {description.data}",
            open=open,
            groups=description.groups,
            kind=description.kind,
            adjust=adjust,
            rules=rules,
            template=description.prompt.fill_template(template),
            metric=description.headline or description.metric,
            circular_default=circular,
            max_new_tokens=description.max_new_tokens,
            paper=description.paper,
            source=description.source,
        )

    return data_file_benchmark(data, variant, build)


def _judged_benchmark(
    description: BenchmarkDescription, name: str, data: str, variant: Variant
) -> Benchmark:
    return judged_benchmark(
        variant,
        JudgedDeclaration(
            name=name,
            version=VERSION,
            title=description.title or f"own data: {description.data}",
            data=Published({}, {}),
            samples=partial(rows_to_samples, groups=description.groups, path=data, kind="open"),
            flow=_similarity_flow,
            paper=description.paper,
            source=description.source,
            rubrics=(_RUBRIC,),
            headline=description.headline or "score",
            must_judge=True,
            requires=REQUIRES_TEXT,
            max_new_tokens=description.max_new_tokens,
            max_judge_tokens=64,
        ),
    )


def _similarity_flow(
    settings: Generation, panel: JudgePanel, options: Mapping[str, str]
) -> Callable[[Sample], Flow]:
    def fields(sample: Sample, reply: str) -> Mapping[str, str]:
        golds = " or ".join(sample.gold)
        return {"question": sample.question, "gold": golds, "reply": reply}

    return judged_flow(
        JudgedScoring(
            settings=settings,
            panel=panel,
            rubric=_RUBRIC,
            fields=fields,
            parse=partial(parse_grade, low=1.0, high=_BEST),
            score=lambda grade: (grade - 1) / (_BEST - 1),
            build_messages=plain_messages,
        )
    )

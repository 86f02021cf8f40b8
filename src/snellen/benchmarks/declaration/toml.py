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

from snellen.benchmarks.declaration.data_file import own_benchmark
from snellen.benchmarks.declaration.judged import Declared, as_is, graded_benchmark
from snellen.benchmarks.declaration.open_questions import final_answer, on_golds, whole_reply
from snellen.benchmarks.declaration.published import Published, absolute, with_origin
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, Shape, samples
from snellen.benchmarks.declaration.units import column_of_units
from snellen.benchmarks.protocol.flows import EQUALITY, Circular, Grade, OpenReader, OpenRule
from snellen.benchmarks.protocol.judged_flows import Grading, graded
from snellen.benchmarks.protocol.judging import Panel
from snellen.benchmarks.protocol.parsers import READERS
from snellen.core.benchmark import TEXT, Benchmark, Table, Variant
from snellen.core.errors import DataError, UnknownName
from snellen.core.flow import Flow
from snellen.core.origin import origin_of
from snellen.core.request import Generation
from snellen.core.sample import Kind, Sample
from snellen.data.columns import check_roles_of
from snellen.data.toml_files import read_toml
from snellen.extract.verdicts import read_grade
from snellen.prompts.choice import DEFAULT, Wording
from snellen.scoring.edit_distance import anls
from snellen.scoring.exact import contained, equal_folded
from snellen.scoring.relaxed import relaxed_correct
from snellen.scoring.vqa_accuracy import vqa_accuracy

VERSION = "3"
SUFFIX = ".toml"
DESCRIBED = "described"
"""Parameter of a run: digest of the description, which decides what is asked and counted."""
_RUBRIC = "similarity"
_BEST = 5.0


class OpenMetric(NamedTuple):
    grade: Grade
    read: OpenReader


METRICS: Mapping[str, OpenMetric] = {
    "accuracy": OpenMetric(EQUALITY.grade, EQUALITY.read),
    "exact": OpenMetric(on_golds(equal_folded), final_answer),
    "contains": OpenMetric(on_golds(contained), whole_reply),
    "anls": OpenMetric(on_golds(anls), final_answer),
    "relaxed": OpenMetric(on_golds(relaxed_correct), final_answer),
    "vqa": OpenMetric(on_golds(vqa_accuracy), final_answer),
}
"""How open answers are graded: equal after small differences are taken away, equal but for case,
a gold contained in the reply, by edit distance, within 5 % of a number, against several people."""


class Strings(Struct, frozen=True, forbid_unknown_fields=True):
    """Fixed strings of the prompt, by the names of `Wording`; None keeps Snellen's own."""

    hint: str | None = None
    question: str | None = None
    options: str | None = None
    option: str | None = None
    choose: str | None = None
    yes_no: str | None = None
    open: str | None = None

    def over(self, wording: Wording) -> Wording:
        def told(name: str) -> str:
            own: str | None = getattr(self, name)
            default: str = getattr(wording, name)
            return default if own is None else own

        return replace(
            wording,
            hint=told("hint"),
            question=told("question"),
            options=told("options"),
            option=told("option"),
            choose=told("choose"),
            yes_no=told("yes_no"),
            open=told("open"),
        )


class Description(Struct, frozen=True, forbid_unknown_fields=True):
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
    prompt: Strings = Strings()
    circular: Literal["off", "early", "full"] = "off"
    max_new_tokens: int = 512
    judge: bool = False
    paper: str = ""
    source: str = ""


def is_described(name: str) -> bool:
    return name.lower().endswith(SUFFIX)


def described_benchmark(path: str, variant: Variant) -> Benchmark:
    """The benchmark that a TOML file describes. Raises DataError, UnknownName."""
    told = _description(path)
    data = variant.data or _beside(told.data, path)
    variant = replace(variant, data=data, columns={**told.columns, **variant.columns})
    name = told.name or Path(path).stem
    made = (_judged if told.judge else _by_rules)(told, name, data, variant)
    digest = hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:12]
    return replace(
        made,
        open=partial(_opened, made.open, absolute(path)),
        parameters={**made.parameters, DESCRIBED: digest},
    )


def _opened(open: Callable[[], Table], path: str) -> Table:
    """The table, which says by which description it was opened."""
    table = open()
    origin = origin_of(table)
    return table if origin is None else with_origin(table, structs.replace(origin, spec=path))


def _description(path: str) -> Description:
    try:
        told = msgspec.convert(read_toml(path), Description)
    except msgspec.ValidationError as error:
        known = ", ".join(Description.__struct_fields__)
        raise DataError(f"{path}: {error}; a benchmark's description may have: {known}") from error
    if told.metric not in METRICS:
        raise UnknownName("metric", told.metric, METRICS)
    if told.judge and (told.prompt, told.metric, told.circular) != (Strings(), "accuracy", "off"):
        raise DataError(
            f"{path}: a judge grades replies to the questions as they stand; with judge = true "
            "leave out prompt, metric and circular"
        )
    check_roles_of(told.columns)
    if told.judge and column_of_units(told.columns):
        raise DataError(f"{path}: grades of a judge are not counted by units; leave out unit")
    return told


def _beside(data: str, path: str) -> str:
    return data if "://" in data else str(Path(path).expanduser().parent / data)


def _by_rules(told: Description, name: str, data: str, variant: Variant) -> Benchmark:
    metric = METRICS[told.metric]
    rules = {
        rule: readers._replace(open=OpenRule(metric.read, metric.grade))
        for rule, readers in READERS.items()
    }
    circular: Circular = told.circular

    def make(
        variant: Variant,
        *,
        open: Callable[[], Table],
        wording: Wording = DEFAULT,
        shape: Shape | None = None,
        **_: str,
    ) -> Benchmark:
        return question_benchmark(
            variant,
            name=name,
            version=VERSION,
            title=told.title or f"own data: {told.data}",
            open=open,
            groups=told.groups,
            kind=told.kind,
            shape=shape,
            rules=rules,
            wording=told.prompt.over(wording),
            metric=told.headline or told.metric,
            circular_default=circular,
            max_new_tokens=told.max_new_tokens,
            paper=told.paper,
            source=told.source,
        )

    return own_benchmark(data, variant, make)


def _judged(told: Description, name: str, data: str, variant: Variant) -> Benchmark:
    return graded_benchmark(
        variant,
        Declared(
            name=name,
            version=VERSION,
            title=told.title or f"own data: {told.data}",
            data=Published({}, {}),
            samples=partial(samples, groups=told.groups, path=data, kind="open"),
            flow=_graded,
            paper=told.paper,
            source=told.source,
            rubrics=(_RUBRIC,),
            headline=told.headline or "score",
            must_judge=True,
            needs=TEXT,
            max_new_tokens=told.max_new_tokens,
            judge_tokens=64,
        ),
    )


def _graded(
    settings: Generation, panel: Panel, options: Mapping[str, str]
) -> Callable[[Sample], Flow]:
    def fields(sample: Sample, reply: str) -> Mapping[str, str]:
        golds = " or ".join(sample.gold)
        return {"question": sample.question, "gold": golds, "reply": reply}

    return graded(
        Grading(
            settings=settings,
            panel=panel,
            rubric=_RUBRIC,
            fields=fields,
            read=partial(read_grade, low=1.0, high=_BEST),
            score=lambda grade: (grade - 1) / (_BEST - 1),
            shown=as_is,
        )
    )

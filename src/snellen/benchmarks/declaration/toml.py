"""A benchmark of the user's own described in a few lines of TOML, without code.

    title = "Signs in the street"
    data = "signs.tsv"                  # beside this file; or hf://ORG/NAME?split=test
    kind = "open"                       # choice, yes_no or open; without it, inferred row by row
    metric = "anls"                     # of open answers, see METRICS
    groups = ["city"]
    columns = { question = "text", gold = "truth" }
    max_new_tokens = 32

    [prompt]
    open = "Answer with the words on the sign."

`judge = true` has open answers graded by the judges of a run, from 1 to 5; without a judge there is
no score. Where it is not set, judges that a run names grade open answers unless `metric` is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.data_file import UserFile, adapt_to_columns
from snellen.benchmarks.declaration.declaration import Declaration, Headline, Scoring
from snellen.benchmarks.declaration.described import (
    DescribedBenchmark,
    TemplateStrings,
    read_fields,
)
from snellen.benchmarks.declaration.judged import ACCURACY, Judged, plain_messages
from snellen.benchmarks.declaration.open_questions import METRICS
from snellen.benchmarks.declaration.published import absolute_path
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.declaration.units import unit_column
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.judged_flows import JudgedScoring, judged_flow
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.parsers import PARSERS
from snellen.core.benchmark import DESCRIBED, REQUIRES_TEXT, Variant
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.flow import Flow
from snellen.core.request import Generation, Message
from snellen.core.sample import Sample
from snellen.data.columns import check_column_keys
from snellen.extract.verdicts import parse_grade
from snellen.prompts.choice import DEFAULT_TEMPLATE

VERSION = "4"
_RUBRIC = "similarity"
_BEST = 5.0


class BenchmarkDescription(DescribedBenchmark, Struct, frozen=True, kw_only=True):
    """The fields of the file; only `data` is required."""

    data: str
    name: str = ""
    metric: str = ACCURACY
    columns: dict[str, str] = {}
    ignore_columns: tuple[str, ...] = ()
    max_new_tokens: int = 512
    judge: bool = False


def load_declaration(path: str) -> Declaration:
    """The benchmark that a TOML file describes. Raises DataError, UnknownName."""
    description = _load_description(path)
    own = Variant(columns=description.columns, ignore_columns=description.ignore_columns)
    data = UserFile(_resolve_path(description.data, path), own.columns, absolute_path(path))
    content = msgspec.structs.asdict(description)
    if not description.ignore_columns:
        del content["ignore_columns"]  # so that older descriptions keep their digest
    digest = hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]
    declaration = Declaration(
        name=description.name or Path(path).stem,
        version=VERSION,
        title=description.title or f"own data: {description.data}",
        paper=description.paper,
        provenance=description.source,
        data=data,
        group_by=description.groups,
        kind="open" if description.judge else description.kind,
        requires=REQUIRES_TEXT,
        max_new_tokens=description.max_new_tokens,
        scoring=_scoring(description),
        parameters={DESCRIBED: digest},
    )
    if description.judge:
        headline = Headline(name=description.headline or "score")
        return replace(declaration, headline=headline, for_variant=_without_units)
    return replace(declaration, for_variant=partial(_adapt, data, description.prompt))


def _adapt(
    data: UserFile, strings: TemplateStrings, declaration: Declaration, variant: Variant
) -> Declaration:
    """As for a plain data file, with the strings of the description in the prompt."""
    declaration = adapt_to_columns(data, declaration, variant)
    template = strings.fill_template(declaration.template or DEFAULT_TEMPLATE)
    return replace(declaration, template=template)


def _without_units(declaration: Declaration, variant: Variant) -> Declaration:
    """The declaration as it is. Raises UsageError for columns that name units."""
    if unit_column(variant.columns):
        raise UsageError(
            f"{declaration.name}: grades of a judge are not counted by units; leave out "
            "--columns unit=..."
        )
    return declaration


def _load_description(path: str) -> BenchmarkDescription:
    description = read_fields(path, BenchmarkDescription)
    if description.metric not in METRICS:
        raise UnknownName("metric", description.metric, METRICS)
    changed = (description.prompt, description.metric, description.circular)
    if description.judge and changed != (TemplateStrings(), ACCURACY, "off"):
        raise DataError(
            f"{path}: a judge grades replies to the questions as they stand; with judge = true "
            "leave out prompt, metric and circular"
        )
    check_column_keys(description.columns)
    if description.judge and unit_column(description.columns):
        raise DataError(f"{path}: grades of a judge are not counted by units; leave out unit")
    return description


def _resolve_path(data: str, path: str) -> str:
    return data if "://" in data else str(Path(path).expanduser().parent / data)


def _scoring(description: BenchmarkDescription) -> Scoring:
    if description.judge:
        return Judged(
            flow=similarity_flow, rubrics=(_RUBRIC,), must_judge=True, max_judge_tokens=64
        )
    metric = METRICS[description.metric]
    rules = {
        rule: parsers._replace(open=OpenScoring(metric.parse, metric.grade))
        for rule, parsers in PARSERS.items()
    }
    return RuleScoring(
        rules=rules,
        metric=description.headline or description.metric,
        circular=description.circular,
        similarity=True,
        judges_score=description.metric == ACCURACY,
    )


def similarity_flow(
    settings: Generation,
    panel: JudgePanel,
    options: Mapping[str, str],
    build_messages: Callable[[Sample], tuple[Message, ...]] = plain_messages,
) -> Callable[[Sample], Flow]:
    """Questions whose replies judges compare with the gold answers, from 1 to 5."""

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
            build_messages=build_messages,
        )
    )
